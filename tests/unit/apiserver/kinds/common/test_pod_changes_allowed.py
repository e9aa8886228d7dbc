"""What may change in a pod once it exists, door by door."""

from __future__ import annotations

import pytest
import yaml

from podling.api.core_v1 import Pod
from podling.apiserver.kinds.common.base import Context
from tests.support.causes import SUBDOMAIN_TEXT, Cause, duplicate, forbidden, invalid, required, unsupported
from tests.support.manifests import NOW, PLAIN_POD, change_causes, created, merged, obj, rules

NAME_TEXT = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
ONLY_THESE = (
    "pod updates may not change fields other than "
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` "
    "(allow it to be set to 1 if it was previously negative)\n"
)


def pair(before: str, after: str) -> tuple[Pod, Pod]:
    """A stored pod, and the same with more fields as a writer sends it."""
    base = merged(PLAIN_POD, yaml.safe_load(before) or {})
    old = created(obj(Pod, "", base))
    status = obj(Pod, "", base).status
    given = status.container_statuses or status.init_container_statuses or status.conditions
    return obj(Pod, after, base), type(old)(
        metadata=old.metadata, spec=old.spec, status=status if given else old.status
    )


def update(before: str, after: str, subresource: str = "") -> list[Cause]:
    new, old = pair(before, after)
    return change_causes(new, old, subresource)


PLAIN: list[tuple[str, str, list[Cause]]] = [
    ("", "metadata: {labels: {a: b}}", []),
    ("", "spec: {containers: [{name: main, image: nginx:1.28}]}", []),
    (
        "spec: {initContainers: [{name: setup, image: a}]}",
        "spec: {initContainers: [{name: setup, image: b}]}",
        [],
    ),
    ("", "spec: {activeDeadlineSeconds: 60}", []),
    ("spec: {activeDeadlineSeconds: 60}", "spec: {activeDeadlineSeconds: 30}", []),
    (
        "spec: {activeDeadlineSeconds: 30}",
        "spec: {activeDeadlineSeconds: 60}",
        [invalid("spec.activeDeadlineSeconds", "60", "must be less than or equal to previous value")],
    ),
    ("", "spec: {tolerations: [{key: a, operator: Exists}]}", []),
    (
        "spec: {tolerations: [{key: a, operator: Exists}]}",
        "spec: {tolerations: [{key: b, operator: Exists}]}",
        [
            forbidden(
                "spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"
            )
        ],
    ),
    ("spec: {terminationGracePeriodSeconds: -5}", "spec: {terminationGracePeriodSeconds: 1}", []),
    ("spec: {schedulingGates: [{name: a}, {name: b}]}", "spec: {schedulingGates: [{name: b}]}", []),
    (
        "",
        "spec: {schedulingGates: [{name: a}]}",
        [
            forbidden(
                "spec.schedulingGates[0].name", "only deletion is allowed, but found new scheduling gate 'a'"
            )
        ],
    ),
    (
        "",
        "spec: {containers: [{name: main, image: x}, {name: more, image: y}]}",
        [forbidden("spec.containers", "pod updates may not add or remove containers")],
    ),
    (
        "",
        "spec: {hostname: other}",
        [forbidden("spec", f'{ONLY_THESE}+ hostname: "other"')],
    ),
    (
        "",
        "spec: {containers: [{name: main, image: nginx:1.28, command: [sh]}]}",
        [forbidden("spec", f'{ONLY_THESE}+ containers[0].command: ["sh"]')],
    ),
    ("spec: {schedulingGates: [{name: a}]}", "spec: {nodeSelector: {disk: ssd}}", []),
    (
        "spec: {schedulingGates: [{name: a}], nodeSelector: {disk: ssd}}",
        "spec: {nodeSelector: {disk: hdd}}",
        [
            invalid(
                "spec.nodeSelector",
                '{"disk":"hdd"}',
                "only additions to spec.nodeSelector are allowed (no mutations or deletions)",
            )
        ],
    ),
    (
        "",
        "spec: {nodeSelector: {disk: ssd}}",
        [forbidden("spec", f'{ONLY_THESE}+ nodeSelector: {{"disk":"ssd"}}')],
    ),
    (
        "metadata: {annotations: {kubernetes.io/config.mirror: x}}\nspec: {nodeName: n1}",
        "metadata: {annotations: {kubernetes.io/config.mirror: y}}",
        [
            forbidden(
                "metadata.annotations[kubernetes.io/config.mirror]",
                "may not remove or update mirror pod annotation",
            )
        ],
    ),
    (
        "",
        "metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/main: unconfined}}",
        [
            forbidden(
                "metadata.annotations[container.apparmor.security.beta.kubernetes.io/main]",
                "may not add AppArmor annotations",
            )
        ],
    ),
    (
        "spec: {schedulingGates: [{name: a}], affinity: {nodeAffinity: "
        "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{}]}}}}",
        "spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
        "{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}}",
        [
            invalid(
                "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
                ".nodeSelectorTerms[0]",
                '{"matchExpressions":[{"key":"a","operator":"Exists"}]}',
                "only additions are allowed (no mutations or deletions)",
            )
        ],
    ),
]


@pytest.mark.parametrize(("before", "after", "expected"), PLAIN)
def test_a_plain_update(before: str, after: str, expected: list[Cause]) -> None:
    assert update(before, after) == expected


SMALL = "spec: {containers: [{name: main, image: x, resources: {requests: {cpu: 1}}}]}"

INIT = (
    "spec: {{containers: [{{name: main, image: x}}], "
    "initContainers: [{{name: first, image: x, resources: {{requests: {{{}}}}}}}]}}"
)
RESTARTED_INIT = (
    "spec: {{containers: [{{name: main, image: x}}], "
    "initContainers: [{{name: first, image: x, resources: {{requests: {{{}}}}}, "
    "resizePolicy: [{{resourceName: cpu, restartPolicy: RestartContainer}}]}}]}}"
)
SHARED = (
    "spec: {{resources: {{requests: {{{}}}}}, "
    "containers: [{{name: main, image: x, resources: {{requests: {{cpu: 1}}}}}}]}}"
)

RESIZES: list[tuple[str, str, list[Cause]]] = [
    (SMALL, "spec: {containers: [{name: main, image: x, resources: {requests: {cpu: 2}}}]}", []),
    (
        "spec: {os: {name: windows}, containers: [{name: main, image: x, resources: {requests: {cpu: 1}}}]}",
        "spec: {containers: [{name: main, image: x, resources: {requests: {cpu: 2}}}]}",
        [forbidden("[]", "windows pods cannot be resized")],
    ),
    (
        SMALL,
        "spec: {containers: [{name: main, image: x, resources: {}}]}",
        [
            invalid("spec", '"Burstable"', "Pod QOS Class may not change as a result of resizing"),
            forbidden("spec.containers[0].resources.requests", "resource requests cannot be removed"),
        ],
    ),
    (
        SMALL,
        "spec: {containers: [{name: main, image: x, resources: "
        "{requests: {cpu: 1, ephemeral-storage: 1Gi}}}]}",
        [forbidden("spec", "only cpu and memory resources are mutable")],
    ),
    (
        SMALL,
        "spec: {containers: [{name: main, image: x, resources: {requests: {cpu: 1}}, "
        "resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]}]}",
        [forbidden("spec", "only cpu and memory resources are mutable")],
    ),
    (
        SMALL,
        "spec: {containers: [{name: other, image: x, resources: {requests: {cpu: 1}}}]}",
        [forbidden("spec.containers[0].name", "containers may not be renamed or reordered on resize")],
    ),
    (
        "spec: {containers: [{name: main, image: x, resources: "
        "{requests: {cpu: 1, ephemeral-storage: 1Gi}}}]}",
        "spec: {containers: [{name: main, image: x, resources: {requests: {cpu: 1}}}]}",
        [
            forbidden("spec.containers[0].resources.requests", "resource requests cannot be removed"),
            forbidden("spec", "only cpu and memory resources are mutable"),
        ],
    ),
    (
        f"{SMALL}\nstatus: {{containerStatuses: [{{name: main, state: {{running: {{}}}}}}]}}",
        "spec: {containers: [{name: main, image: x, resources: {requests: {cpu: 2}}}]}",
        [forbidden("spec", "Pod running on node without support for resize")],
    ),
    (INIT.format("cpu: 1"), INIT.format("cpu: 2"), []),
    (
        INIT.format("cpu: 1"),
        INIT.format("cpu: 1, ephemeral-storage: 1Gi"),
        [
            forbidden(
                "spec.initContainers[0]",
                "only cpu and memory resources for init or sidecar containers are mutable",
            )
        ],
    ),
    (
        RESTARTED_INIT.format("cpu: 1"),
        RESTARTED_INIT.format("cpu: 2"),
        [
            forbidden(
                "spec.initContainers[0]",
                "non-sidecar init containers with a resize policy of RestartContainer cannot be resized",
            )
        ],
    ),
    (SHARED.format("cpu: 2, memory: 1Gi"), SHARED.format("cpu: 3, memory: 1Gi"), []),
    (
        SHARED.format("cpu: 2, memory: 1Gi"),
        SHARED.format("cpu: 2, memory: null"),
        [forbidden("spec.resources.requests", "pod-level resource requests cannot be removed")],
    ),
    (
        SHARED.format("cpu: 2"),
        "spec: {resources: null}",
        [forbidden("spec.resources", "pod-level resources cannot be removed")],
    ),
    (
        SHARED.format("cpu: 2"),
        SHARED.format("cpu: 2, hugepages-2Mi: 2Mi"),
        [
            (
                "spec.resources.limits",
                "FieldValueRequired",
                "Required value: Limit must be set for non overcommitable resources",
            ),
            forbidden("spec", "only cpu and memory resources are mutable at pod-level"),
        ],
    ),
    (
        "metadata: {annotations: {kubernetes.io/config.mirror: x}}\nspec: {nodeName: n1}",
        "spec: {containers: [{name: main, image: x, resources: {requests: {cpu: 2}}}]}",
        [forbidden("[]", "static pods cannot be resized")],
    ),
]


@pytest.mark.parametrize(("before", "after", "expected"), RESIZES)
def test_a_resize(before: str, after: str, expected: list[Cause]) -> None:
    assert update(before, after, "resize") == expected


def test_a_resize_takes_resources_and_drops_everything_else() -> None:
    new, old = pair(
        SMALL,
        "metadata: {labels: {a: b}}\nspec: {hostname: other, containers: [{name: main, image: y, "
        "resources: {requests: {cpu: 2}}}]}",
    )
    made = rules(Pod).prepare_update(new, old, Context(NOW, subresource="resize"))
    assert made.spec.hostname == ""
    assert made.metadata.labels == {}
    assert made.spec.containers[0].image == "x"
    assert made.spec.containers[0].resources.requests == {"cpu": "2"}


DEBUG = "spec: {ephemeralContainers: [{name: debug, image: busybox}]}"

EPHEMERAL: list[tuple[str, str, list[Cause]]] = [
    ("", DEBUG, []),
    (
        "",
        "spec: {ephemeralContainers: [{name: main, image: busybox, targetContainerName: ghost, "
        "ports: [{containerPort: 80}]}]}",
        [
            ("spec.ephemeralContainers[0].name", "FieldValueDuplicate", 'Duplicate value: "main"'),
            ("spec.ephemeralContainers[0].targetContainerName", "FieldValueNotFound", 'Not found: "ghost"'),
            forbidden("spec.ephemeralContainers[0].ports", "cannot be set for an Ephemeral Container"),
        ],
    ),
    (
        DEBUG,
        "spec: {ephemeralContainers: []}",
        [forbidden("spec.ephemeralContainers", 'existing ephemeral containers "debug" may not be removed\n')],
    ),
    (
        DEBUG,
        "spec: {ephemeralContainers: [{name: debug, image: other}]}",
        [
            forbidden(
                "spec.ephemeralContainers",
                'existing ephemeral containers "debug" may not be changed\n- image: "busybox"\n+ image: '
                '"other"',
            )
        ],
    ),
]


@pytest.mark.parametrize(("before", "after", "expected"), EPHEMERAL)
def test_ephemeral_containers_are_only_added(before: str, after: str, expected: list[Cause]) -> None:
    found = [cause for cause in update(before, after, "ephemeralcontainers") if "Policy" not in cause[0]]
    assert found == expected


def statuses(policy: str, state: str) -> str:
    return (
        f"spec: {{restartPolicy: {policy}}}\n"
        f"status: {{containerStatuses: [{{name: main, state: {{{state}}}}}]}}"
    )


ALIVE_AGAIN: list[Cause] = [
    forbidden("status.containerStatuses[0].state", "may not be transitioned to non-terminated state")
]


RULED = (
    "restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]"
)


@pytest.mark.parametrize(
    ("policy", "code", "expected"),
    [
        ("Always", 0, []),
        ("OnFailure", 1, []),
        ("OnFailure", 0, ALIVE_AGAIN),
        ("Never", 1, ALIVE_AGAIN),
    ],
)
def test_a_container_stays_ended_unless_it_may_be_restarted(
    policy: str, code: int, expected: list[Cause]
) -> None:
    before = statuses(policy, f"terminated: {{exitCode: {code}}}")
    assert update(before, statuses(policy, "running: {}"), "status") == expected


@pytest.mark.parametrize(
    ("own", "code", "expected"),
    [
        ("restartPolicy: OnFailure", 1, []),
        ("restartPolicy: OnFailure", 0, ALIVE_AGAIN),
        (RULED, 42, []),
        ("restartPolicy: Never", 1, ALIVE_AGAIN),
    ],
)
@pytest.mark.parametrize("sort", ["containers", "initContainers"])
def test_a_containers_own_policy_and_rules_say_whether_it_may_be_restarted(
    sort: str, own: str, code: int, expected: list[Cause]
) -> None:
    status = "containerStatuses" if sort == "containers" else "initContainerStatuses"
    spec = f"spec: {{restartPolicy: Never, {sort}: [{{name: x, image: x, {own}}}]}}\n"
    ended, runs = (
        f"{spec}status: {{{status}: [{{name: x, state: {{{state}}}}}]}}"
        for state in (f"terminated: {{exitCode: {code}}}", "running: {}")
    )
    assert update(ended, runs, "status") == [
        (field.replace("containerStatuses", status), *rest) for field, *rest in expected
    ]


def test_the_statuses_of_claims_name_claims_of_the_pod() -> None:
    claims = "spec: {resourceClaims: [{name: a, resourceClaimName: b}]}"
    status = "status: {resourceClaimStatuses: [{name: a, resourceClaimName: B}, {name: a}, {name: c}]}"
    where = "status.resourceClaimStatuses"
    assert update(claims, f"{claims}\n{status}", "status") == [
        invalid(f"{where}[0].name", '"B"', SUBDOMAIN_TEXT),
        duplicate(f"{where}[1].name", '"a"'),
        invalid(f"{where}[2].name", '"c"', "must match the name of an entry in `spec.resourceClaims`"),
    ]


def test_a_status_write_keeps_what_it_does_not_know() -> None:
    new, old = pair("", "status: {phase: Running, hostIP: 10.0.0.1}")
    made = rules(Pod).prepare_update(new, old, Context(NOW, subresource="status"))
    assert (made.status.phase, made.status.qos_class) == ("Running", "BestEffort")
    assert made.spec == old.spec


def test_a_condition_keeps_the_generation_it_was_observed_at() -> None:
    ready = "status: {conditions: [{type: Ready, status: 'True', observedGeneration: 3}]}"
    new, old = pair(
        ready, "status: {conditions: [{type: Other, status: 'True'}, {type: Ready, status: 'False'}]}"
    )
    made = rules(Pod).prepare_update(new, old, Context(NOW, subresource="status"))
    assert [each.observed_generation for each in made.status.conditions] == [0, 3]


STATUSES: list[tuple[str, str, list[Cause]]] = [
    (
        "spec: {nodeName: n1}",
        "status: {nominatedNodeName: n2}",
        [forbidden("status.nominatedNodeName", "may not be set on pods that are already bound to a node")],
    ),
    (
        "",
        "status: {observedGeneration: -1, conditions: "
        "[{type: 'a b', status: 'True', observedGeneration: -2}]}",
        [
            invalid("status.conditions[0].observedGeneration", "-2", "must be a non-negative integer"),
            invalid("status.conditions[0].Type", '"a b"', NAME_TEXT),
            invalid("status.observedGeneration", "-1", "must be a non-negative integer"),
        ],
    ),
    (
        "",
        "status: {podIPs: [{ip: 10.0.0.1}, {ip: 10.0.0.2}], hostIP: 10.0.0.3, hostIPs: [{ip: x}]}",
        [
            invalid(
                "status.podIPs",
                '[{"ip":"10.0.0.1"},{"ip":"10.0.0.2"}]',
                "may specify no more than one IP for each IP family",
            ),
            invalid("status.hostIPs[0].ip", '"x"', "must be equal to `hostIP`"),
            invalid(
                "status.hostIPs[0]", '"x"', "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
            ),
        ],
    ),
    (
        "",
        "status: {containerStatuses: [{name: main, user: {linux: {uid: -1, gid: 0}}, "
        "allocatedResourcesStatus: [{name: gpu, "
        "resources: [{resourceID: a, health: Healthy}, {resourceID: a, health: Ill, message: ''}]}]}]}",
        [
            invalid(
                "status.containerStatuses[0].user.linux.uid",
                "-1",
                "must be between 0 and 2147483647, inclusive",
            ),
            invalid(
                "status.containerStatuses[0].allocatedResourcesStatus[0].name",
                '"gpu"',
                "must match one of the container's resource requests",
            ),
            unsupported(
                "status.containerStatuses[0].allocatedResourcesStatus[0].resources[1].health",
                "Ill",
                "Healthy",
                "Unhealthy",
                "Unknown",
            ),
            required(
                "status.containerStatuses[0].allocatedResourcesStatus[0].resources[1].message",
                "must be non-empty if specified",
            ),
            duplicate(
                "status.containerStatuses[0].allocatedResourcesStatus[0].resources[1].resourceID", '"a"'
            ),
        ],
    ),
    (
        "",
        "status: {extendedResourceClaimStatus: {requestMappings: "
        "[{containerName: ghost, resourceName: a, requestName: b}], resourceClaimName: ''}}",
        [
            invalid(
                "status.extendedResourceClaimStatus.requestMappings[0].containerName",
                '"ghost"',
                "must match the name of an entry in spec.initContainers.name or spec.containers.name",
            ),
            required("status.extendedResourceClaimStatus.resourceClaimName"),
        ],
    ),
]


@pytest.mark.parametrize(("before", "after", "expected"), STATUSES)
def test_what_may_not_be_said_of_a_pod(before: str, after: str, expected: list[Cause]) -> None:
    assert update(before, after, "status") == expected


@pytest.mark.parametrize(
    ("given", "ip", "ips"),
    [
        ("podIP: 10.0.0.1", "10.0.0.1", ["10.0.0.1"]),
        ("podIPs: [{ip: 10.0.0.1}]", "10.0.0.1", ["10.0.0.1"]),
        ("podIP: 10.0.0.2, podIPs: [{ip: 10.0.0.1}, {ip: 'fd00::1'}]", "10.0.0.2", ["10.0.0.2"]),
        ("podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}, {ip: 'fd00::1'}]", "10.0.0.1", ["10.0.0.1", "fd00::1"]),
        ("phase: Running", "", []),
    ],
)
def test_the_address_of_a_pod_is_the_first_of_its_addresses(given: str, ip: str, ips: list[str]) -> None:
    new, old = pair("", f"status: {{{given}}}")
    status = rules(Pod).prepare_update(new, old, Context(NOW, subresource="status")).status
    assert (status.pod_ip, [each.ip for each in status.pod_ips]) == (ip, ips)


def test_the_class_of_service_never_changes() -> None:
    assert update("", "status: {qosClass: Guaranteed}", "status") == [
        invalid("status.qosClass", '"Guaranteed"', "field is immutable")
    ]


@pytest.mark.parametrize(
    ("manifest", "requested", "grace"),
    [
        ("spec: {nodeName: n1}", None, 30),
        ("spec: {nodeName: n1}", 5, 5),
        ("spec: {nodeName: n1}", 0, 0),
        ("spec: {nodeName: n1, terminationGracePeriodSeconds: -1}", None, 1),
        ("", None, 0),
        ("spec: {nodeName: n1}\nstatus: {phase: Failed}", 30, 0),
    ],
)
def test_the_grace_of_a_deletion(manifest: str, requested: int | None, grace: int) -> None:
    pod = rules(Pod).default(obj(Pod, manifest, PLAIN_POD))
    assert rules(Pod).grace_for(pod, requested) == grace

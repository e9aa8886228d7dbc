"""Tests of the permitted changes of pods."""

from __future__ import annotations

import pytest
import yaml
from msgspec import structs

from podling.api.core_v1 import Pod
from tests.support.causes import Cause, forbidden, invalid, required
from tests.support.manifests import PLAIN_POD, change_causes, created, merged, obj

ONLY_THESE = (
    "pod updates may not change fields other than "
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` "
    "(allow it to be set to 1 if it was previously negative)\n"
)
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
    ("spec: {activeDeadlineSeconds: 60}", "spec: {activeDeadlineSeconds: 60}", []),
    (
        "spec: {activeDeadlineSeconds: 60}",
        "spec: {activeDeadlineSeconds: null}",
        [
            invalid(
                "spec.activeDeadlineSeconds", "null", "must not update from a positive integer to nil value"
            )
        ],
    ),
    ("", "spec: {tolerations: [{key: a, operator: Exists}]}", []),
    (
        "spec: {tolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 9}]}",
        "spec: {tolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 5}]}",
        [],
    ),
    (
        "spec: {tolerations: [{key: a, operator: Exists}]}",
        "spec: {tolerations: [{key: b, operator: Exists}]}",
        [
            forbidden(
                "spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"
            )
        ],
    ),
    ("spec: {terminationGracePeriodSeconds: -5}", "spec: {terminationGracePeriodSeconds: -7}", []),
    (
        "spec: {terminationGracePeriodSeconds: 30}",
        "spec: {terminationGracePeriodSeconds: 1}",
        [
            forbidden(
                "spec", f"{ONLY_THESE}- terminationGracePeriodSeconds: 30\n+ terminationGracePeriodSeconds: 1"
            )
        ],
    ),
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
        "spec: {initContainers: [{name: setup, image: y}]}",
        [forbidden("spec.initContainers", "pod updates may not add or remove containers")],
    ),
    (
        "",
        'spec: {containers: [{name: main, image: ""}]}',
        [required("spec.containers[0].image")] * 2,
    ),
    (
        "spec: {initContainers: [{name: setup, image: a}]}",
        'spec: {initContainers: [{name: setup, image: "", imagePullPolicy: Always}]}',
        [required("spec.initContainers[0].image")] * 2,
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


def pair(before: str, after: str) -> tuple[Pod, Pod]:
    """Return a stored pod, and the same pod with more fields, as in an update."""
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


@pytest.mark.parametrize(("before", "after", "expected"), PLAIN)
def test_change_of_pod_is_validated(before: str, after: str, expected: list[Cause]) -> None:
    assert update(before, after) == expected


@pytest.mark.parametrize(("grace", "is_allowed"), [(-5, True), (1, True), (2, False)])
def test_negative_grace_of_a_stored_pod_may_become_one(grace: int, is_allowed: bool) -> None:
    new, stored = pair(f"spec: {{terminationGracePeriodSeconds: {grace}}}", "")
    stored = structs.replace(stored, spec=structs.replace(stored.spec, termination_grace_period_seconds=-5))
    change = f"{ONLY_THESE}- terminationGracePeriodSeconds: -5\n+ terminationGracePeriodSeconds: {grace}"
    assert change_causes(new, stored) == ([] if is_allowed else [forbidden("spec", change)])


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

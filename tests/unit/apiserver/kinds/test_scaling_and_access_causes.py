"""What is wrong with autoscalers, disruption budgets, priority classes, leases and roles."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.autoscaling_v2 import HorizontalPodAutoscaler
from podling.api.coordination_v1 import Lease
from podling.api.policy_v1 import PodDisruptionBudget
from podling.api.rbac_v1 import ClusterRole, ClusterRoleBinding, Role, RoleBinding
from podling.api.scheduling_v1 import PriorityClass
from tests.support.causes import (
    LABEL_TEXT,
    SUBDOMAIN_TEXT,
    Cause,
    KindRow,
    forbidden,
    invalid,
    required,
    unsupported,
)
from tests.support.manifests import change_causes, created, creation_causes, obj

META: dict[str, Any] = {"name": "x", "namespace": "default"}
RBAC = "rbac.authorization.k8s.io"
VALID: dict[type[Any], dict[str, Any]] = {
    HorizontalPodAutoscaler: {
        "metadata": META,
        "spec": {
            "maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        },
    },
    PodDisruptionBudget: {"metadata": META, "spec": {"minAvailable": 1}},
    Lease: {"metadata": META, "spec": {"leaseDurationSeconds": 15}},
    Role: {"metadata": META, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
    ClusterRole: {"metadata": {"name": "x"}},
    RoleBinding: {
        "metadata": META,
        "roleRef": {"kind": "Role", "name": "reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "default"}],
    },
    ClusterRoleBinding: {"metadata": {"name": "x"}, "roleRef": {"kind": "ClusterRole", "name": "reader"}},
    PriorityClass: {"metadata": {"name": "x"}, "value": 10},
}
M0, UP, RULE = "spec.metrics[0]", "spec.behavior.scaleUp", "spec.rules[0]"
METRICS = ("ContainerResource", "External", "Object", "Pods", "Resource")
NO_GROUP = "apiVersion must specify API group"
NO_TARGET = "must set either a target raw value or a target utilization"
TWO_TARGETS = "may not set both a target raw value and a target utilization"
NEEDS_SOURCE = "must populate information for the given metric source"
STANDARD = "must be a standard resource type or fully qualified"
WRITER = f'{{"APIGroup":"{RBAC}","Kind":"Role","Name":"writer"}}'


SCALED_TO_NOTHING = forbidden(
    "spec.metrics",
    "must specify at least one Object or External metric to support scaling to zero replicas",
)


def measured(text: str) -> str:
    return f"spec: {{metrics: [{{{text}}}]}}"


def growing(text: str) -> str:
    return f"spec: {{behavior: {{scaleUp: {{{text}}}}}}}"


SCALING: list[KindRow] = [
    (HorizontalPodAutoscaler, "", []),
    (
        HorizontalPodAutoscaler,
        "spec: {minReplicas: 0, maxReplicas: 0}",
        [
            invalid("spec.minReplicas", "0", "must be greater than or equal to 1"),
            invalid("spec.maxReplicas", "0", "must be greater than 0"),
            SCALED_TO_NOTHING,
        ],
    ),
    (
        HorizontalPodAutoscaler,
        "spec: {minReplicas: 0, metrics: [{type: External, external: {metric: {name: m}, "
        "target: {type: Value, value: 1}}}]}",
        [invalid("spec.minReplicas", "0", "must be greater than or equal to 1")],
    ),
    (
        HorizontalPodAutoscaler,
        "spec: {minReplicas: 4}",
        [invalid("spec.maxReplicas", "3", "must be greater than or equal to `minReplicas`")],
    ),
    (
        HorizontalPodAutoscaler,
        "spec: {scaleTargetRef: {kind: '', name: a/b}}",
        [
            required("spec.scaleTargetRef.kind"),
            invalid("spec.scaleTargetRef.name", '"a/b"', "may not contain '/'"),
        ],
    ),
    (
        HorizontalPodAutoscaler,
        "spec: {scaleTargetRef: {apiVersion: null}}",
        [invalid("spec.scaleTargetRef.apiVersion", '""', NO_GROUP)],
    ),
    (
        HorizontalPodAutoscaler,
        "spec: {scaleTargetRef: {apiVersion: v1}}",
        [invalid("spec.scaleTargetRef.apiVersion", '"v1"', NO_GROUP)],
    ),
    (HorizontalPodAutoscaler, "spec: {scaleTargetRef: {apiVersion: v1, kind: ReplicationController}}", []),
    (
        HorizontalPodAutoscaler,
        "spec: {scaleTargetRef: {apiVersion: a/b/c, kind: ReplicationController}}",
        [invalid("spec.scaleTargetRef.apiVersion", '"a/b/c"', "unexpected GroupVersion string: a/b/c")],
    ),
    (
        HorizontalPodAutoscaler,
        measured("type: Object, object: {describedObject: {apiVersion: a/b/c, kind: Ingress, name: i}, "
                 "metric: {name: m}, target: {type: Value, value: 1}}"),
        [
            invalid(
                f"{M0}.object.describedObject.apiVersion",
                '"a/b/c"',
                "unexpected GroupVersion string: a/b/c",
            )
        ],
    ),
    (
        HorizontalPodAutoscaler,
        measured("type: Object, object: {describedObject: {kind: Node, name: n}, metric: {name: m}, "
                 "target: {type: Value, value: 1}}"),
        [],
    ),
    (
        HorizontalPodAutoscaler,
        measured("type: Other"),
        [unsupported(f"{M0}.type", "Other", *METRICS), unsupported(f"{M0}.type", "Other", *METRICS)],
    ),
    (HorizontalPodAutoscaler, measured("type: Pods"), [required(f"{M0}.pods", NEEDS_SOURCE)]),
    (
        HorizontalPodAutoscaler,
        measured("type: Resource, resource: {name: '', target: {type: Utilization}}"),
        [
            required(f"{M0}.resource.name", "must specify a resource name"),
            required(f"{M0}.resource.target.averageUtilization", NO_TARGET),
        ],
    ),
    (
        HorizontalPodAutoscaler,
        measured("type: Resource, resource: {name: cpu, target: {averageUtilization: 0, averageValue: 0}}"),
        [
            required(f"{M0}.resource.target.type", "must specify a metric target type"),
            invalid(
                f"{M0}.resource.target.type", '""', "must be either Utilization, Value, or AverageValue"
            ),
            invalid(f"{M0}.resource.target.averageValue", '"0"', "must be positive"),
            invalid(f"{M0}.resource.target.averageUtilization", "0", "must be greater than 0"),
            forbidden(f"{M0}.resource.target.averageValue", TWO_TARGETS),
        ],
    ),
    (
        HorizontalPodAutoscaler,
        measured("type: ContainerResource, containerResource: {name: gpus, container: A, "
                 "target: {type: Utilization, averageUtilization: 5}}"),
        [
            invalid(
                f"{M0}.containerResource.name", '"gpus"', STANDARD
            ),
            invalid(
                f"{M0}.containerResource.name", '"gpus"', "must be a standard resource for containers"
            ),
            invalid(f"{M0}.containerResource.container", '"A"', LABEL_TEXT),
        ],
    ),
    (
        HorizontalPodAutoscaler,
        measured("type: External, external: {metric: {name: ''}, target: {type: Value, value: 1, "
                 "averageValue: 1}}"),
        [
            required(f"{M0}.external.metric.name", "must specify a metric name"),
            forbidden(
                f"{M0}.external.target.value",
                "may not set both a target value for metric and a per-pod target",
            ),
        ],
    ),
    (
        HorizontalPodAutoscaler,
        measured("type: Pods, pods: {metric: {name: qps}, target: {type: AverageValue}}, "
                 "resource: {name: cpu, target: {type: Utilization}}"),
        [
            required(f"{M0}.pods.target.averageValue", "must specify a positive target averageValue"),
            forbidden(f"{M0}.resource", "must populate the given metric source only"),
        ],
    ),
    (
        HorizontalPodAutoscaler,
        growing("selectPolicy: Some, stabilizationWindowSeconds: 4000, tolerance: '-1'"),
        [
            invalid(f"{UP}.stabilizationWindowSeconds", "4000", "must be less than or equal to 3600"),
            unsupported(f"{UP}.selectPolicy", "Some", "Disabled", "Max", "Min"),
            invalid(f"{UP}.tolerance", '"-1"', "must be greater than or equal to 0"),
        ],
    ),
    (
        HorizontalPodAutoscaler,
        growing("policies: [{type: Nodes, value: 0, periodSeconds: 1801}]"),
        [
            unsupported(f"{UP}.policies[0].type", "Nodes", "Percent", "Pods"),
            invalid(f"{UP}.policies[0].value", "0", "must be greater than zero"),
            invalid(f"{UP}.policies[0].periodSeconds", "1801", "must be less than or equal to 1800"),
        ],
    ),
    (PodDisruptionBudget, "", []),
    (
        PodDisruptionBudget,
        "spec: {minAvailable: 101%}",
        [invalid("spec.minAvailable", '"101%"', "must not be greater than 100%")],
    ),
    (
        PodDisruptionBudget,
        "spec: {unhealthyPodEvictionPolicy: Never}",
        [unsupported("spec.unhealthyPodEvictionPolicy", "Never", "AlwaysAllow", "IfHealthyBudget")],
    ),
]  # fmt: skip

ACCESS: list[KindRow] = [
    (Lease, "", []),
    (
        Lease,
        "spec: {leaseDurationSeconds: 0, leaseTransitions: -1, preferredHolder: me}",
        [
            invalid("spec.leaseDurationSeconds", "0", "must be greater than 0"),
            invalid("spec.leaseTransitions", "-1", "must be greater than or equal to 0"),
            forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined"),
        ],
    ),
    (
        Lease,
        "spec: {strategy: Newest}",
        [unsupported("spec.strategy.strategy", "Newest", "OldestEmulationVersion")],
    ),
    (Lease, "spec: {strategy: example.com/newest}", []),
    (Role, "", []),
    (
        Role,
        "rules: [{}, {verbs: [get], nonResourceURLs: [/a], resources: [pods]}]",
        [
            required("rules[0].verbs", "verbs must contain at least one value"),
            required("rules[0].apiGroups", "resource rules must supply at least one api group"),
            required("rules[0].resources", "resource rules must supply at least one resource"),
            invalid(
                "rules[1].nonResourceURLs", '["/a"]', "namespaced rules cannot apply to non-resource URLs"
            ),
            invalid(
                "rules[1].nonResourceURLs",
                '["/a"]',
                "rules cannot apply to both regular resources and non-resource URLs",
            ),
        ],
    ),
    (
        ClusterRole,
        "aggregationRule: {}",
        [
            required(
                "aggregationRule.clusterRoleSelectors",
                "at least one clusterRoleSelector required if aggregationRule is non-nil",
            )
        ],
    ),
    (
        ClusterRole,
        "aggregationRule: {clusterRoleSelectors: [{}, {matchExpressions: [{key: a, operator: Is}]}]}",
        [
            invalid(
                "aggregationRule.clusterRoleSelectors[1].matchExpressions[0].operator",
                '"Is"',
                "not a valid selector operator",
            ),
            invalid("aggregationRule.clusterRoleSelectors[1]", "null", "invalid label selector."),
        ],
    ),
    (RoleBinding, "", []),
    (
        RoleBinding,
        "roleRef: {apiGroup: x, kind: Group, name: ''}\nsubjects: [{kind: Robot, name: r}]",
        [
            unsupported("roleRef.apiGroup", "x", RBAC),
            unsupported("roleRef.kind", "Group", "Role", "ClusterRole"),
            required("roleRef.name"),
            unsupported("subjects[0].kind", "Robot", "ServiceAccount", "User", "Group"),
        ],
    ),
    (
        ClusterRoleBinding,
        "roleRef: {kind: Role}\nsubjects: [{kind: ServiceAccount, name: A, apiGroup: a}, {kind: User}]",
        [
            unsupported("roleRef.kind", "Role", "ClusterRole"),
            invalid("subjects[0].name", '"A"', SUBDOMAIN_TEXT),
            unsupported("subjects[0].apiGroup", "a", ""),
            required("subjects[0].namespace"),
            required("subjects[1].name"),
        ],
    ),
    (PriorityClass, "", []),
    (
        PriorityClass,
        "value: 2000000000",
        [forbidden("value", "maximum allowed value of a user defined priority is 1000000000")],
    ),
    (
        PriorityClass,
        "metadata: {name: system-mine}\npreemptionPolicy: Always",
        [
            forbidden(
                "metadata.name",
                "priority class names with 'system-' prefix are reserved for system use only. "
                "error: system-mine is not a known system priority class",
            ),
            unsupported("preemptionPolicy", "Always", "PreemptLowerPriority", "Never"),
        ],
    ),
    *[
        (
            PriorityClass,
            f"{{metadata: {{name: system-node-critical}}, preemptionPolicy: '', {text}}}",
            [
                forbidden(
                    "metadata.name",
                    "priority class names with 'system-' prefix are reserved for system use only. "
                    f"error: {why}",
                ),
                required("preemptionPolicy"),
            ],
        )
        for text, why in (
            ("value: 1", "value of system-node-critical PriorityClass must be 2000001000"),
            (
                "value: 2000001000, globalDefault: true",
                "globalDefault of system-node-critical PriorityClass must be false",
            ),
        )
    ],
]


@pytest.mark.parametrize(("kind", "text", "expected"), [*SCALING, *ACCESS])
def test_causes(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


@pytest.mark.parametrize(
    ("kind", "text", "subresource", "expected"),
    [
        (
            RoleBinding,
            "roleRef: {name: writer}",
            "",
            [
                invalid(
                    "roleRef",
                    WRITER,
                    "cannot change roleRef",
                )
            ],
        ),
        (PriorityClass, "value: 11", "", [forbidden("value", "may not be changed in an update.")]),
        (
            HorizontalPodAutoscaler,
            "status: {desiredReplicas: -1, currentReplicas: -2}",
            "status",
            [
                invalid("status.currentReplicas", "-2", "must be greater than or equal to 0"),
                invalid("status.desiredReplicas", "-1", "must be greater than or equal to 0"),
            ],
        ),
        (
            PodDisruptionBudget,
            "status: {expectedPods: -1, conditions: [{type: Ok, status: Maybe, reason: ''}]}",
            "status",
            [
                unsupported("status.conditions[0].status", "Maybe", "False", "True", "Unknown"),
                required("status.conditions[0].lastTransitionTime", "must be set"),
                required("status.conditions[0].reason", "must be set"),
                invalid("status.expectedPods", "-1", "must be greater than or equal to 0"),
            ],
        ),
    ],
)
def test_changes(kind: type[Any], text: str, subresource: str, expected: list[Cause]) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old, subresource) == expected


MALFORMED = "{apiVersion: a/b/c, kind: Deployment, name: web}"
DESCRIBED = measured(
    "type: Object, object: {describedObject: {apiVersion: a/b/c, kind: Ingress, name: i}, metric: {name: m}, "
    "target: {type: Value, value: 1}}"
)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            f"spec: {{scaleTargetRef: {MALFORMED}}}",
            f"spec: {{maxReplicas: 9, scaleTargetRef: {MALFORMED}}}",
            [],
        ),
        (
            f"spec: {{scaleTargetRef: {MALFORMED}}}",
            "spec: {scaleTargetRef: {apiVersion: '', kind: Deployment, name: web}}",
            [invalid("spec.scaleTargetRef.apiVersion", '""', NO_GROUP)],
        ),
        (DESCRIBED, DESCRIBED, []),
        ("spec: {minReplicas: 0}", "spec: {minReplicas: 0, metrics: []}", [SCALED_TO_NOTHING]),
    ],
)
def test_what_was_wrong_before_may_stay(before: str, after: str, expected: list[Cause]) -> None:
    """Of what a change leaves alone, the version of the target, of described objects, and no replicas."""
    kind = HorizontalPodAutoscaler
    old, new = (created(obj(kind, text, VALID[kind])) for text in (before, after))
    assert change_causes(new, old) == expected

"""Tests of the validation of affinity, tolerations, spread constraints and gates."""

from __future__ import annotations

import pytest

from tests.support.causes import Cause, Row, duplicate, forbidden, invalid, required, unsupported
from tests.support.manifests import creation_causes, pod

SCHEDULING: list[Row] = [
    (
        "spec: {tolerations: [{key: a, operator: Exists, value: b}]}",
        [invalid("spec.tolerations[0].operator", '"b"', "value must be empty when `operator` is 'Exists'")],
    ),
    (
        "spec: {tolerations: [{value: b}]}",
        [
            invalid(
                "spec.tolerations[0].operator",
                '""',
                'operator must be Exists when `key` is empty, which means "match all values and all keys"',
            )
        ],
    ),
    (
        "spec: {tolerations: [{key: a, effect: NoSchedule, tolerationSeconds: 3}]}",
        [
            invalid(
                "spec.tolerations[0].effect",
                '"NoSchedule"',
                "effect must be 'NoExecute' when `tolerationSeconds` is set",
            )
        ],
    ),
    (
        "spec: {schedulingGates: [{name: a}, {name: a}]}",
        [duplicate("spec.schedulingGates[1]", '"a"')],
    ),
    (
        "spec: {nodeName: n1, schedulingGates: [{name: a}]}",
        [forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")],
    ),
    (
        "spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}}}}",
        [
            required(
                "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
                "must have at least one node selector term",
            )
        ],
    ),
    (
        "spec: {affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: "
        "[{weight: 101, podAffinityTerm: {topologyKey: zone, labelSelector: {matchExpressions: "
        "[{key: app, operator: In}]}}}]}}}",
        [
            invalid(
                "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight",
                "101",
                "must be in the range 1-100",
            ),
            required(
                "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]"
                ".podAffinityTerm.labelSelector.matchExpressions[0].values",
                "must be specified when `operator` is 'In' or 'NotIn'",
            ),
        ],
    ),
    (
        "spec: {topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: Maybe}]}",
        [
            invalid("spec.topologySpreadConstraints[0].maxSkew", "0", "must be greater than zero"),
            unsupported(
                "spec.topologySpreadConstraints[0].whenUnsatisfiable",
                "Maybe",
                "DoNotSchedule",
                "ScheduleAnyway",
            ),
        ],
    ),
    (
        "spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}"
        ", {maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}",
        [
            duplicate(
                "spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}",
                '"{zone, DoNotSchedule}"',
            )
        ],
    ),
    (
        "metadata: {labels: {rev: '7'}}\n"
        "spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, "
        "matchLabelKeys: [rev], labelSelector: {matchLabels: {rev: '7'}}}]}",
        [
            invalid(
                "spec.topologySpreadConstraints[0][0]",
                '"rev"',
                "exists in both matchLabelKeys and labelSelector",
            )
        ],
    ),
    (
        "spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, "
        "matchLabelKeys: [a b], nodeTaintsPolicy: ''}]}",
        [
            unsupported("spec.topologySpreadConstraints[0].nodeTaintsPolicy", "", "Honor", "Ignore"),
            forbidden(
                "spec.topologySpreadConstraints[0].matchLabelKeys",
                "must not be specified when labelSelector is not set",
            ),
        ],
    ),
    (
        "spec: {affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: z, "
        "matchLabelKeys: [a], mismatchLabelKeys: [a], labelSelector: {}}]}}}",
        [
            invalid(
                "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
                ".matchLabelKeys[0]",
                '"a"',
                "exists in both matchLabelKeys and mismatchLabelKeys",
            )
        ],
    ),
    ("spec: {preemptionPolicy: ''}", [required("spec.preemptionPolicy")]),
    (
        "spec: {nodeSelector: {'a b': c}}",
        [
            invalid(
                "spec.nodeSelector",
                '"a b"',
                "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and "
                "end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex "
                "used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            )
        ],
    ),
]


@pytest.mark.parametrize(("manifest", "expected"), SCHEDULING)
def test_invalid_scheduling_field_is_refused_with_causes(manifest: str, expected: list[Cause]) -> None:
    assert creation_causes(pod(manifest)) == expected

"""Rules of PodGroups and Workloads, and the gate that serves them."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.apps_v1 import ReplicaSet
from podling.api.batch_v1 import CronJob
from podling.api.core_v1 import Pod
from podling.api.scheduling_v1alpha2 import PodGroup, Workload
from podling.apiserver.http import discovery
from podling.apiserver.kinds.common.base import Context
from podling.client.requests import SYSTEM, Target, WriteOptions
from podling.machinery.openapi import openapi
from podling.machinery.scheme import by_path, gated_resources, resource_of
from podling.testing.control_plane import memory_cluster
from tests.support.causes import SUBDOMAIN_TEXT, Cause, duplicate, invalid, required, too_many
from tests.support.manifests import (
    NOW,
    PLAIN_POD,
    change_causes,
    created,
    creation_causes,
    obj,
    rules,
)

GATES = {"GenericWorkload": True}
META = {"name": "foo", "namespace": "default"}
GROUP = {"metadata": META, "spec": {"schedulingPolicy": {"gang": {"minCount": 5}}}}
TEMPLATE = {"name": "main", "schedulingPolicy": {"gang": {"minCount": 5}}}
CONTROLLER = {"apiGroup": "batch", "kind": "Job", "name": "sum"}
WORKLOAD: dict[str, Any] = {
    "metadata": META,
    "spec": {"podGroupTemplates": [TEMPLATE], "controllerRef": CONTROLLER},
}
POLICY = "spec.schedulingPolicy"
ONE_OF = "must specify one of: `basic`, `gang`"


@pytest.mark.parametrize(
    ("fragment", "expected"),
    [
        ("", []),
        ("spec: {schedulingPolicy: {gang: null, basic: {}}}", []),
        (
            "spec: {schedulingPolicy: {gang: {minCount: -1}}}",
            [invalid(f"{POLICY}.gang.minCount", "-1", "must be greater than or equal to 1")],
        ),
        ("spec: {schedulingPolicy: {gang: {minCount: 0}}}", [required(f"{POLICY}.gang.minCount")]),
        (
            "spec: {schedulingPolicy: {basic: {}}}",
            [
                invalid(
                    POLICY,
                    '"{`basic`, `gang`}"',
                    "exactly one of `basic`, `gang` is required, but multiple fields are set",
                )
            ],
        ),
        ("spec: {schedulingPolicy: {gang: null}}", [invalid(POLICY, '""', ONE_OF)]),
        (
            "spec: {podGroupTemplateRef: {workload: {workloadName: w, podGroupTemplateName: main}}}",
            [],
        ),
        (
            "spec: {podGroupTemplateRef: {}}",
            [invalid("spec.podGroupTemplateRef", '""', "must specify one of: `workload`")],
        ),
        (
            "spec: {podGroupTemplateRef: {workload: {workloadName: '', podGroupTemplateName: ''}}}",
            [
                required("spec.podGroupTemplateRef.workload.workloadName"),
                required("spec.podGroupTemplateRef.workload.podGroupTemplateName"),
            ],
        ),
    ],
)
def test_invalid_group_is_refused(fragment: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(PodGroup, fragment, GROUP))) == expected


@pytest.mark.parametrize(
    ("fragment", "field"),
    [
        ("spec: {schedulingPolicy: {gang: {minCount: 4}}}", POLICY),
        ("spec: {schedulingPolicy: {gang: null, basic: {}}}", POLICY),
        (
            "spec: {podGroupTemplateRef: {workload: {workloadName: w, podGroupTemplateName: t}}}",
            "spec.podGroupTemplateRef",
        ),
    ],
)
def test_group_cannot_change(fragment: str, field: str) -> None:
    old = created(obj(PodGroup, "", GROUP))
    assert change_causes(old, old) == []
    [(where, _, message)] = change_causes(obj(PodGroup, fragment, GROUP), old)
    assert where == field
    assert message.endswith(": field is immutable")


def test_status_of_group_is_reset_and_its_conditions_are_checked() -> None:
    condition = "{type: PodGroupScheduled, status: 'True', reason: Scheduled, message: ''"
    complete = f"status: {{conditions: [{condition}, lastTransitionTime: '2026-01-01T12:00:00Z'}}]}}"
    new = obj(PodGroup, complete, GROUP)
    assert created(new).status.conditions == ()
    old = created(obj(PodGroup, "", GROUP))
    assert change_causes(new, old, "status") == []
    lacking = obj(PodGroup, f"status: {{conditions: [{condition}}}]}}", GROUP)
    where = "status.conditions[0].lastTransitionTime"
    assert change_causes(lacking, old, "status") == [required(where, "must be set")]


def _templates(*names: str) -> dict[str, Any]:
    templates = [{**TEMPLATE, "name": name} for name in names]
    return {**WORKLOAD, "spec": {**WORKLOAD["spec"], "podGroupTemplates": templates}}


@pytest.mark.parametrize(
    ("base", "fragment", "expected"),
    [
        (WORKLOAD, "", []),
        (_templates(*"abcdefgh"), "", []),
        (_templates(), "", [required("spec.podGroupTemplates")]),
        (_templates(*"abcdefghi"), "", [too_many("spec.podGroupTemplates", 9, 8)]),
        (_templates(""), "", [required("spec.podGroupTemplates[0].name")]),
        (WORKLOAD, "spec: {controllerRef: {kind: ''}}", [required("spec.controllerRef.kind")]),
        (WORKLOAD, "spec: {controllerRef: {name: ''}}", [required("spec.controllerRef.name")]),
        (
            WORKLOAD,
            "spec: {controllerRef: {name: a/b}}",
            [invalid("spec.controllerRef.name", '"a/b"', "may not contain '/'")],
        ),
        (
            WORKLOAD,
            "spec: {controllerRef: {apiGroup: A}}",
            [invalid("spec.controllerRef.apiGroup", '"A"', SUBDOMAIN_TEXT)],
        ),
    ],
)
def test_invalid_workload_is_refused(base: dict[str, Any], fragment: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(Workload, fragment, base))) == expected


def test_templates_of_workload_have_different_names() -> None:
    [(where, reason, _)] = creation_causes(created(obj(Workload, "", _templates("a", "a"))))
    assert (where, reason) == ("spec.podGroupTemplates[1]", duplicate("", "")[1])


@pytest.mark.parametrize(
    ("fragment", "field"),
    [
        ("spec: {controllerRef: {name: other}}", "spec.controllerRef"),
        ("spec: {podGroupTemplates: [{name: b, schedulingPolicy: {basic: {}}}]}", "spec.podGroupTemplates"),
    ],
)
def test_workload_cannot_change(fragment: str, field: str) -> None:
    old = created(obj(Workload, "", WORKLOAD))
    assert change_causes(old, old) == []
    assert [where for where, _, _ in change_causes(obj(Workload, fragment, WORKLOAD), old)] == [field]


def test_fields_of_other_gates_are_warned_of() -> None:
    group = obj(PodGroup, "spec: {priorityClassName: high, disruptionMode: Pod}", GROUP)
    assert creation_warnings(group) == [
        "spec.disruptionMode: not honoured by this cluster",
        "spec.priorityClassName: not honoured by this cluster",
    ]
    workload = obj(Workload, "spec: {podGroupTemplates: [{name: a, priority: 3}]}", WORKLOAD)
    assert creation_warnings(workload) == ["spec.podGroupTemplates[0].priority: not honoured by this cluster"]


def creation_warnings(thing: Any) -> list[str]:
    return rules(type(thing)).warnings(thing, None, Context(NOW))


@pytest.mark.parametrize(
    ("fragment", "expected"),
    [
        ("spec: {schedulingGroup: {podGroupName: foo}}", []),
        (
            "spec: {schedulingGroup: {podGroupName: A}}",
            [invalid("spec.schedulingGroup.podGroupName", '"A"', SUBDOMAIN_TEXT)],
        ),
        (
            "spec: {schedulingGroup: {}}",
            [invalid("spec.schedulingGroup", '""', "must specify one of: `podGroupName`")],
        ),
    ],
)
def test_invalid_group_of_pod_is_refused(fragment: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(Pod, fragment, PLAIN_POD))) == expected


def test_groups_are_served_with_their_gate_only() -> None:
    assert gated_resources({}) == ()
    gated = gated_resources(GATES)
    assert [each.plural for each in gated] == ["podgroups", "workloads"]
    assert by_path("scheduling.k8s.io", "v1alpha2", "podgroups") is None
    assert discovery.resources("scheduling.k8s.io", "v1alpha2") is None
    listed = discovery.resources("scheduling.k8s.io", "v1alpha2", gated)
    assert listed is not None
    assert [each.name for each in listed.resources] == ["podgroups", "podgroups/status", "workloads"]
    known = discovery.group("scheduling.k8s.io", gated)
    assert known is not None
    assert [each.version for each in known.versions] == ["v1", "v1alpha2"]
    assert known.preferred_version.version == "v1"
    assert b"io.k8s.api.scheduling.v1alpha2.PodGroup" in openapi.v2_document(gated)
    assert b"io.k8s.api.scheduling.v1alpha2.PodGroup" not in openapi.v2_document()


@pytest.mark.parametrize("gates", [{}, GATES])
async def test_pods_of_groups_are_warned_of_where_no_groups_are_served(gates: dict[str, bool]) -> None:
    async with memory_cluster(feature_gates=gates) as cluster:
        served = cluster.server.catalogue.parse_path(
            "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups/foo/status"
        )
        assert (served is not None) == bool(gates)
        pod = obj(Pod, "spec: {schedulingGroup: {podGroupName: foo}}", PLAIN_POD)
        options = WriteOptions()
        await cluster.backend.create(Target(resource_of(Pod), "default"), SYSTEM, pod, options)
        text = "spec.schedulingGroup: not honoured by this cluster"
        assert [each for each in options.warnings if "schedulingGroup" in each] == ([] if gates else [text])


@pytest.mark.parametrize(
    ("kind", "path"),
    [(ReplicaSet, "spec.template.spec"), (CronJob, "spec.jobTemplate.spec.template.spec")],
)
async def test_template_with_a_group_is_warned_of(kind: type[Any], path: str) -> None:
    found = {"spec": {**PLAIN_POD["spec"], "schedulingGroup": {"podGroupName": "foo"}}}
    if kind is CronJob:
        found["spec"]["restartPolicy"] = "Never"
        spec: dict[str, Any] = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": found}}}
    else:
        labels = {"app": "web"}
        spec = {"selector": {"matchLabels": labels}, "template": {**found, "metadata": {"labels": labels}}}
    made = obj(kind, "", {"metadata": META, "spec": spec})
    async with memory_cluster() as cluster:
        options = WriteOptions()
        await cluster.backend.create(Target(resource_of(kind), "default"), SYSTEM, made, options)
    assert f"{path}.schedulingGroup: not honoured by this cluster" in options.warnings

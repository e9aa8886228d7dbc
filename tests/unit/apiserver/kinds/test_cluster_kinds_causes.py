"""What is wrong with runtime classes, API services, templates and revisions."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.apiregistration_v1 import APIService
from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import PodTemplate
from podling.api.node_v1 import RuntimeClass
from tests.support.causes import LABEL_TEXT, Cause, KindRow, duplicate, invalid, required, unsupported
from tests.support.manifests import change_causes, created, creation_causes, obj, rules

VALID: dict[type[Any], dict[str, Any]] = {
    RuntimeClass: {"metadata": {"name": "x"}, "handler": "runc"},
    APIService: {
        "metadata": {"name": "v1.example.com"},
        "spec": {
            "group": "example.com",
            "version": "v1",
            "groupPriorityMinimum": 100,
            "versionPriority": 15,
            "service": {"name": "s", "namespace": "n"},
        },
    },
    PodTemplate: {
        "metadata": {"name": "x", "namespace": "default"},
        "template": {"spec": {"containers": [{"name": "main", "image": "nginx"}]}},
    },
    ControllerRevision: {
        "metadata": {"name": "x", "namespace": "default"},
        "data": {"a": 1},
        "revision": 1,
    },
}

CAUSES: list[KindRow] = [
    (RuntimeClass, "handler: Runc", [invalid("handler", '"Runc"', LABEL_TEXT)]),
    (
        RuntimeClass,
        "overhead: {podFixed: {cpu: -1}}",
        [invalid("overhead.limits[cpu]", '"-1"', "must be greater than or equal to 0")],
    ),
    (
        RuntimeClass,
        "scheduling: {tolerations: [{key: a, operator: Near}]}",
        [unsupported("scheduling.tolerations[0].operator", "Near", "Equal", "Exists")],
    ),
    (
        RuntimeClass,
        "scheduling: {tolerations: [{key: a, effect: NoExecute}, "
        "{key: a, effect: NoExecute, tolerationSeconds: 5}]}",
        [duplicate("scheduling.tolerations[1]", '{"effect":"NoExecute","key":"a","tolerationSeconds":5}')],
    ),
    (
        APIService,
        "metadata: {name: v2.example.com}",
        [
            invalid(
                "metadata.name",
                '"v2.example.com"',
                'must be `spec.version+"."+spec.group`: "v1.example.com"',
            )
        ],
    ),
    (
        APIService,
        "{metadata: {name: v2.}, spec: {group: '', version: v2}}",
        [required("spec.group", "only v1 may have an empty group and it better be legacy kube")],
    ),
    (
        APIService,
        "spec: {groupPriorityMinimum: 0, versionPriority: 1001}",
        [
            invalid("spec.groupPriorityMinimum", "0", "must be positive and less than 20000"),
            invalid("spec.versionPriority", "1001", "must be positive and less than 1000"),
        ],
    ),
    (
        APIService,
        "spec: {service: {name: '', namespace: '', port: 0}}",
        [
            required("spec.service.namespace"),
            required("spec.service.name"),
            invalid("spec.service.port", "0", "port is not valid: must be between 1 and 65535, inclusive"),
        ],
    ),
    (
        APIService,
        "spec: {insecureSkipTLSVerify: true, caBundle: AAAA}",
        [invalid("spec.insecureSkipTLSVerify", "true", "may not be true if caBundle is present")],
    ),
    (
        APIService,
        "spec: {service: null, insecureSkipTLSVerify: true, caBundle: AAA=}",
        [
            invalid("spec.caBundle", '"2 bytes"', "local APIServices may not have a caBundle"),
            invalid(
                "spec.insecureSkipTLSVerify", "true", "local APIServices may not have insecureSkipTLSVerify"
            ),
        ],
    ),
    (PodTemplate, "template: {spec: {containers: []}}", [required("template.spec.containers")]),
    (ControllerRevision, "data: null", [required("data", "data is mandatory")]),
    (
        ControllerRevision,
        "revision: -1",
        [invalid("revision", "-1", "must be greater than or equal to 0")],
    ),
]


@pytest.mark.parametrize(("kind", "plain"), VALID.items())
def test_the_valid_ones_are(kind: type[Any], plain: dict[str, Any]) -> None:
    assert creation_causes(created(obj(kind, "", plain))) == []


@pytest.mark.parametrize(("kind", "text", "expected"), CAUSES)
def test_causes(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (RuntimeClass, "handler: kata", [invalid("handler", '"kata"', "field is immutable")]),
        (ControllerRevision, "data: {a: 2}", [invalid("data", '{"a":2}', "field is immutable")]),
        (ControllerRevision, "revision: 2", []),
    ],
)
def test_changes(kind: type[Any], text: str, expected: list[Cause]) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old) == expected


def test_conditions_of_an_api_service() -> None:
    old = created(obj(APIService, "", VALID[APIService]))
    new = obj(APIService, "status: {conditions: [{type: Available, status: Maybe}]}", VALID[APIService])
    assert change_causes(new, old, "status") == [
        unsupported("status.conditions[0].status", "Maybe", "True", "False", "Unknown")
    ]


def test_a_template_is_completed_and_counted() -> None:
    own = rules(PodTemplate)
    made = own.default(obj(PodTemplate, "", VALID[PodTemplate]))
    assert made.template.spec.restart_policy == "Always"
    assert own.generation
    assert own.intent(made) == made.template

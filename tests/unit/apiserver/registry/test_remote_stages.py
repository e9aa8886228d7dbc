"""Writes computed by worker processes give the same objects, warnings and errors, byte for byte."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podling import clock, ids
from podling.apiserver.registry import write_surroundings
from podling.apiserver.registry.remote_stages import RemoteStages
from podling.client.base import PatchType
from podling.client.requests import SYSTEM, Patch, Target, WriteOptions
from podling.machinery.errors import ApiError
from podling.machinery.scheme import RESOURCES, Resource
from podling.testing import ControlPlane
from tests.support.custom_resources import definition, widget
from tests.support.manifests import valid_objects
from tests.support.remote_writes import CustomTarget, OneProcess, Request, compute_all_remotely, outcomes

STORED = {(each.group_version, each.kind): each for each in RESOURCES if each.stored}
DOCUMENTS = [each for each in valid_objects() if (each["apiVersion"], each["kind"]) in STORED]
APPLY = {"force": True, "apply": True, "field_manager": "applier"}
STRICT = {"field_validation": "Strict"}


@pytest.fixture(autouse=True)
def _same_identifiers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids, "uid", lambda: "11111111-2222-4333-8444-555555555555")
    monkeypatch.setattr(ids, "suffix", lambda length=5: "x" * length)
    compute_all_remotely(monkeypatch)


def assert_same(requests: list[Request], before: list[Any] | None = None) -> list[bytes]:
    """Compare the outcomes here with those of a worker; return the bodies."""
    here = outcomes(requests, remote=False, before=before)
    there = outcomes(requests, remote=True, before=before)
    for request, one, other in zip(requests, here, there, strict=True):
        assert one == other, request
    return [each.body for each in here]


def sequence(resource: Resource, document: dict[str, Any]) -> list[Request]:
    """Return writes of one object: valid and invalid ones, of every kind."""
    metadata = document["metadata"]
    many = Target(resource, metadata.get("namespace", ""))
    one = Target(resource, many.namespace, metadata["name"])
    head = {"apiVersion": document["apiVersion"], "kind": document["kind"], "metadata": metadata}
    labels = {"metadata": {"labels": {"a": "b"}}}
    patches = [
        Request(PatchType.MERGE.value, one, labels),
        Request(PatchType.MERGE.value, one, labels),
        Request(PatchType.MERGE.value, one, {"metadata": {"labels": {"-": "bad value"}}}),
        Request(PatchType.MERGE.value, one, {"unknown": 1}),
        Request(PatchType.MERGE.value, one, {"unknown": 1}, STRICT),
        Request(PatchType.MERGE.value, one, {"metadata": {"resourceVersion": "1"}}),
        Request(PatchType.STRATEGIC.value, one, {"metadata": {"annotations": {"a": "b"}}}),
        Request(PatchType.STRATEGIC.value, one, {"metadata": {"finalizers": ["a.b/c"]}}, {"dry_run": True}),
        Request(PatchType.JSON.value, one, [{"op": "add", "path": "/metadata/labels/c", "value": "d"}]),
        Request(PatchType.JSON.value, one, [{"op": "remove", "path": "/metadata/nothing"}]),
        Request(PatchType.JSON.value, one, b"[{"),
        Request(PatchType.APPLY.value, one, {**head, **labels}, APPLY),
        Request(PatchType.APPLY.value, one, {**head, **labels}, {**APPLY, "force": False}),
        Request(PatchType.APPLY.value, one, {**document, "unknown": 1}, APPLY),
    ]
    return [
        Request("create", many, document),
        Request("create", many, document),
        Request("create", many, {**document, "unknown": 1}, STRICT),
        Request("create", many, {**document, "metadata": {"generateName": "made-", **many_of(metadata)}}),
        Request("create", many, b'{"kind":'),
        Request("update", one, document),
        Request("update", one, {**document, "metadata": {**metadata, "resourceVersion": "7"}}),
        Request("update", one, {**document, "metadata": {**metadata, "name": "other"}}),
        *patches,
    ]


def many_of(metadata: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in metadata.items() if name == "namespace"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda each: f"{each['apiVersion']}-{each['kind']}")
def test_writes_of_every_kind_are_the_same(document: dict[str, Any]) -> None:
    resource = STORED[document["apiVersion"], document["kind"]]
    namespaced = document["metadata"].get("namespace")
    if resource.namespaced and not namespaced:
        document = {**document, "metadata": {**document["metadata"], "namespace": "default"}}
    spec = document.get("spec", {})
    if document["kind"] == "Pod":  # priorities need a PriorityClass
        spec = {name: value for name, value in spec.items() if not name.startswith("priority")}
        document = {**document, "spec": spec}
    created, *_ = assert_same(sequence(resource, document))
    assert b'"kind":"Status"' not in created, created


WIDGETS = definition(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["size"],
                "properties": {
                    "size": {"type": "integer", "minimum": 0},
                    "mode": {"type": "string", "default": "plain"},
                    "parts": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name"],
                        "items": {
                            "type": "object",
                            "required": ["name"],
                            "properties": {"name": {"type": "string"}, "weight": {"type": "integer"}},
                        },
                    },
                },
                "x-kubernetes-validations": [
                    {"rule": "self.size < 100", "message": "size is too large"},
                    {"rule": "self.size >= oldSelf.size", "message": "size may not shrink"},
                ],
            },
            "status": {"type": "object", "properties": {"ready": {"type": "integer"}}},
        },
    },
    version={
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.ready"},
        }
    },
)


def test_writes_of_custom_resources_are_the_same() -> None:
    place = ("example.com", "v1", "widgets")
    many = CustomTarget(place, "default")
    one, status, scale = (CustomTarget(place, "default", "w", part) for part in ("", "status", "scale"))
    head = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    parts = [{"name": "a", "weight": 1}, {"name": "b"}]
    merge, apply = PatchType.MERGE.value, PatchType.APPLY.value
    bodies = assert_same(
        [
            Request("create", many, {**head, "spec": {"size": 1, "parts": parts, "other": 1}}),
            Request("create", many, {**head, "spec": {"size": "x"}}),
            Request("create", many, {**head, "spec": {"size": 1, "other": 1}}, STRICT),
            Request(merge, one, {"spec": {"size": 2}}),
            Request(merge, one, {"spec": {"size": 2}}),
            Request(merge, one, {"spec": {"size": 1}}),
            Request(merge, one, {"spec": {"size": 1000}}),
            Request(merge, one, {"spec": {"size": -1}}),
            Request(merge, one, {"spec": None}),
            Request(PatchType.STRATEGIC.value, one, {"spec": {"size": 3}}),
            Request(
                PatchType.JSON.value, one, [{"op": "add", "path": "/spec/parts/-", "value": {"name": "a"}}]
            ),
            Request(apply, one, {**head, "spec": {"size": 4, "parts": [{"name": "c"}]}}, APPLY),
            Request(
                apply, one, {**head, "spec": {"size": 5}}, {**APPLY, "force": False, "field_manager": "x"}
            ),
            Request(merge, status, {"status": {"ready": 1}, "spec": {"size": 9}}),
            Request(merge, scale, {"spec": {"replicas": 7}}),
            Request(merge, scale, {"spec": {"replicas": -7}}),
            Request(
                apply,
                scale,
                {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 8}},
                APPLY,
            ),
            Request("update", one, {**head, "spec": {"size": 8}}),
        ],
        [WIDGETS],
    )
    refused = [number for number, body in enumerate(bodies) if b'"status":"Failure"' in body]
    assert refused == [1, 2, 5, 6, 7, 9, 10, 12, 15, 17]


NUMBERS = definition(
    {
        "type": "object",
        "properties": {"numbers": {"type": "array", "maxItems": 310, "items": {"type": "integer"}}},
        "x-kubernetes-validations": [{"rule": "self.numbers.all(a, self.numbers.all(b, a + b >= 0))"}],
    }
)


async def test_costly_rules_of_small_objects_are_evaluated_by_a_worker(
    cluster: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_surroundings, "is_heavy", lambda *_: False)
    await cluster.client.create(NUMBERS)
    await clock.sleep(1)
    pool = OneProcess()
    cluster.backend.compute_in(RemoteStages(pool, cluster.server.catalogue.definition_of))
    resource = cluster.server.catalogue.by_path("example.com", "v1", "widgets")
    assert resource is not None
    many = Target(resource, "default")
    for name, numbers in (("few", [1, 2]), ("many", list(range(300)))):
        before = pool.jobs
        made = await cluster.backend.create(
            many, SYSTEM, widget(resource.type, name, numbers=numbers), WriteOptions()
        )
        assert (made.content["numbers"], pool.jobs - before) == (numbers, int(name == "many"))
    wrong = {"numbers": [-1000, *range(300)]}
    with pytest.raises(ApiError, match="failed rule"):
        await cluster.backend.create(many, SYSTEM, widget(resource.type, "wrong", **wrong), WriteOptions())
    before = pool.jobs
    patch = Patch(PatchType.MERGE, {"metadata": {"labels": {"a": "b"}}})
    changed = await cluster.backend.patch(Target(resource, "default", "many"), SYSTEM, patch, WriteOptions())
    assert (changed.metadata.labels, pool.jobs - before) == ({"a": "b"}, 1)


YAML_BODY = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: my}\ndata:\n  a: b\n  a: c\n"
CONFIG_MAPS = STORED["v1", "ConfigMap"]
MAPS, MAP = Target(CONFIG_MAPS, "default"), Target(CONFIG_MAPS, "default", "my")


def _map(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "my"}, "data": data}


def test_bodies_in_other_forms_are_the_same() -> None:
    apply, many_values = PatchType.APPLY.value, {str(number): "" for number in range(60_000)}
    bodies = assert_same(
        [
            Request("create", MAPS, YAML_BODY, content_type="application/yaml"),
            Request("create", MAPS, YAML_BODY, STRICT, content_type="application/yaml"),
            Request("create", MAPS, b"k8s\x00nonsense", content_type="application/vnd.kubernetes.protobuf"),
            Request("create", MAPS, b"x", content_type="text/plain"),
            Request("create", MAPS, b"[" * 20_000),
            Request("create", MAPS, _map(**many_values)),
            Request("create", MAPS, _map(a="x" * 1_600_000)),
            Request("create", Target(STORED["v1", "Secret"], "default"), _secret(1_200_000)),
            Request(apply, MAP, b"a: [", APPLY),
            Request(apply, Target(CONFIG_MAPS, "default", "new"), {**_map(a="b"), "metadata": {}}, APPLY),
            Request(PatchType.MERGE.value, Target(CONFIG_MAPS, "default", "none"), {"data": None}),
        ]
    )
    assert [b'"status":"Failure"' in body for body in bodies] == [False, *[True] * 8, False, True]


def _secret(size: int) -> dict[str, Any]:
    """Return a Secret that is small enough for its kind, and with its base64 too large for the storage."""
    head = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "large", "annotations": {"a": "x" * 200_000}},
    }
    return {**head, "data": {"a": base64.b64encode(b"x" * size).decode()}}


names = st.sampled_from(["a", "b", "c/d", "é", "", "f.g"])
leaves = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["x", "", "☃"])
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
bodies = st.fixed_dictionaries(
    {},
    optional={
        "data": st.dictionaries(names, st.sampled_from(["x", "y"]) | st.none(), max_size=4) | leaves,
        "metadata": st.fixed_dictionaries(
            {},
            optional={
                "labels": st.dictionaries(names, st.sampled_from(["x", "y"]), max_size=3),
                "annotations": values,
            },
        ),
        "immutable": leaves,
        "other": values,
    },
)
operations = st.lists(
    st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "replace", "remove", "test", "copy", "move", "none"]),
            "path": st.sampled_from(["/data/a", "/data", "/metadata/labels/b", "/x/y"]),
        },
        optional={"value": values, "from": st.sampled_from(["/data/a", "/metadata/labels"])},
    ),
    max_size=3,
)
MERGES = [PatchType.MERGE.value, PatchType.STRATEGIC.value]


def _apply(body: dict[str, Any], manager: str, force: bool) -> Request:
    options = {"apply": True, "field_manager": manager, "force": force}
    return Request(PatchType.APPLY.value, MAP, {**_map(), **body}, options)


patches = st.one_of(
    st.builds(Request, st.sampled_from(MERGES), st.just(MAP), bodies),
    st.builds(Request, st.just(PatchType.JSON.value), st.just(MAP), operations | values),
    st.builds(_apply, bodies, st.sampled_from(["m", "n"]), st.booleans()),
    st.builds(lambda body: Request("update", MAP, {**_map(), **body}), bodies),
)


@settings(max_examples=60)
@given(body=bodies, requests=st.lists(patches, min_size=1, max_size=4))
def test_generated_writes_are_the_same(body: dict[str, Any], requests: list[Request]) -> None:
    assert_same([Request("create", MAPS, {**_map(), **body}), *requests])

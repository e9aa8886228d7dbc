"""Server-side apply through the API: answers, refusals, and managed fields."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.json import decode

from podling.api.apps_v1 import Deployment
from podling.api.autoscaling_v1 import Scale, ScaleSpec
from podling.api.core_v1 import ConfigMap, Container, Namespace, Pod, PodSpec, Secret, ServiceAccount
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import PatchType
from podling.client.requests import SYSTEM, Patch, Target, WriteOptions
from podling.machinery.errors import ApiError
from podling.machinery.patches import fieldsets
from podling.machinery.scheme import resource_of
from podling.testing import ControlPlane

MAPS, PODS, DEPLOYMENTS = resource_of(ConfigMap), resource_of(Pod), resource_of(Deployment)


def intent(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "data": data}


async def apply(cluster: ControlPlane, body: Any, manager: str = "me", **options: Any) -> ConfigMap:
    return await cluster.client.patch(
        ConfigMap, "cm", body, "default", patch_type=PatchType.APPLY, field_manager=manager, **options
    )


def record(obj: Any) -> dict[str, set[str]]:
    """Return the fields of each manager, by a key such as ``me Apply``."""
    found = {}
    for each in obj.metadata.managed_fields:
        name = " ".join(part for part in (each.manager, each.operation, each.subresource) if part)
        found[name] = {fieldsets.text_of(path) for path in fieldsets.decode(decode(each.fields_v1))}
    return found


async def test_in_process_client_applies_like_a_remote_one(cluster: ControlPlane) -> None:
    made = await apply(cluster, intent(a="1"))
    assert record(made) == {"me Apply": {".data.a"}}
    shared = await apply(cluster, intent(a="1"), "you")
    assert record(shared) == {"me Apply": {".data.a"}, "you Apply": {".data.a"}}
    left = await apply(cluster, intent(b="2"))
    assert left.data == {"a": "1", "b": "2"}, "what the other still says stays"


async def test_dry_run_answers_the_result_and_stores_nothing(cluster: ControlPlane) -> None:
    would = await apply(cluster, intent(a="1"), dry_run=True)
    assert would.data == {"a": "1"}
    made = await apply(cluster, intent(a="1"))
    await apply(cluster, intent(a="2"), dry_run=True)
    assert await cluster.client.get(ConfigMap, "cm", "default") == made


@pytest.mark.parametrize(
    ("body", "manager", "code", "text"),
    [
        (
            intent(),
            "",
            422,
            'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: '
            "is required for apply patch",
        ),
        (
            [],
            "me",
            400,
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: "
            "json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        (
            intent() | {"metadata": {"name": "other"}},
            "me",
            400,
            "the name of the object (other) does not match the name on the URL (cm)",
        ),
        (
            intent() | {"metadata": {"namespace": "other"}},
            "me",
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            intent() | {"metadata": {"uid": "u1"}},
            "me",
            409,
            'Operation cannot be fulfilled on configmaps "cm": uid mismatch: the provided object specified '
            "uid u1, and no existing object was found",
        ),
        (intent() | {"metadata": {"managedFields": [{}]}}, "me", 400, "metadata.managedFields must be nil"),
        (
            intent() | {"datum": {}},
            "me",
            500,
            "failed to create typed patch object (default/cm; /v1, Kind=ConfigMap): "
            ".datum: field not declared in schema",
        ),
        (
            intent() | {"immutable": {}},
            "me",
            500,
            "failed to create typed patch object (default/cm; /v1, Kind=ConfigMap): "
            ".immutable: expected boolean, got &{map[]}",
        ),
        (
            intent() | {"metadata": {"creationTimestamp": "yesterday"}},
            "me",
            500,
            "failed to convert new object (default/cm; /v1, Kind=ConfigMap) to proper version: unable to "
            'convert unstructured object to /v1, Kind=ConfigMap: parsing time "yesterday" as '
            '"2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"',
        ),
    ],
)
async def test_malformed_apply_configurations_are_refused(
    cluster: ControlPlane, body: Any, manager: str, code: int, text: str
) -> None:
    with pytest.raises(ApiError) as error:
        await apply(cluster, body, manager)
    assert error.value.code == code
    assert str(error.value) == text
    assert (await cluster.client.list(ConfigMap, "default")).items == ()


async def test_duplicate_keys_are_a_warning_or_an_error(cluster: ControlPlane) -> None:
    patch = Patch(PatchType.APPLY, intent(a="1"), ('line 3: key "a" already set in map',))
    target = Target(MAPS, "default", "cm")
    for validation in ("Warn", "Ignore"):
        options = WriteOptions(field_manager="me", field_validation=validation, apply=True)
        await cluster.backend.patch(target, SYSTEM, patch, options)
        assert options.warnings == (list(patch.duplicates) if validation == "Warn" else [])
    with pytest.raises(
        ApiError, match=r'^error strict decoding YAML: error converting YAML to JSON: line 3: key "a" already'
    ):
        strict = WriteOptions(field_manager="me", field_validation="Strict", apply=True)
        await cluster.backend.patch(target, SYSTEM, patch, strict)


async def test_the_creator_owns_defaults_but_not_what_admission_adds(cluster: ControlPlane) -> None:
    pod = Pod(
        metadata=ObjectMeta(name="p", namespace="default"),
        spec=PodSpec(containers=(Container(name="main", image="i"),)),
    )
    options = WriteOptions(field_manager="kubectl-run")
    made = await cluster.backend.create(Target(PODS, "default"), SYSTEM, pod, options)
    mine = record(made)["kubectl-run Update"]
    assert {".spec.dnsPolicy", ".spec.restartPolicy", '.spec.containers[name="main"].image'} <= mine
    assert made.spec.tolerations, "admission tolerates nodes that are not ready for a while"
    assert not any("tolerations" in field or "status" in field for field in mine)


async def test_each_subresource_is_an_entry_of_its_own(cluster: ControlPlane) -> None:
    await apply(cluster, intent())
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    }
    client, target = cluster.client, Target(DEPLOYMENTS, "default", "web")
    await client.patch(Deployment, "web", body, "default", patch_type=PatchType.APPLY, field_manager="me")
    scale = Scale(metadata=ObjectMeta(name="web", namespace="default"), spec=ScaleSpec(replicas=3))
    options = WriteOptions(field_manager="autoscaler")
    await cluster.backend.update(Target(DEPLOYMENTS, "default", "web", "scale"), SYSTEM, scale, options)
    status = {"status": {"observedGeneration": 1}}
    await client.patch(Deployment, "web", status, "default", subresource="status", field_manager="controller")
    found = record(await cluster.backend.get(target, SYSTEM))
    assert found["autoscaler Update scale"] == {".spec.replicas"}
    assert found["controller Update status"] == {".status.observedGeneration"}
    assert ".spec.replicas" not in found["me Apply"]


async def test_a_scale_of_another_object_is_not_written(cluster: ControlPlane) -> None:
    pods = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": pods}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}
    client = cluster.client
    made = await client.patch(
        Deployment, "web", body, "default", patch_type=PatchType.APPLY, field_manager="me"
    )
    scales = Target(DEPLOYMENTS, "default", "web", "scale")
    place = ObjectMeta(name="web", namespace="default", uid="other")
    with pytest.raises(ApiError) as error:
        await cluster.backend.update(scales, SYSTEM, Scale(metadata=place), WriteOptions())
    assert str(error.value) == (
        'Operation cannot be fulfilled on deployments/scale.apps "web": Precondition failed: '
        f"UID in precondition: other, UID in object meta: {made.metadata.uid}"
    )


async def test_replicas_are_applied_through_their_scale(cluster: ControlPlane) -> None:
    pods = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": pods}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}
    client, scales = cluster.client, Target(DEPLOYMENTS, "default", "web", "scale")
    await client.patch(Deployment, "web", body, "default", patch_type=PatchType.APPLY, field_manager="me")
    said = Patch(PatchType.APPLY, {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 3}})
    with pytest.raises(ApiError, match=r'conflict with "me": .spec.replicas'):
        await cluster.backend.patch(scales, SYSTEM, said, WriteOptions(field_manager="it", apply=True))
    forced = WriteOptions(field_manager="it", apply=True, force=True)
    scale = await cluster.backend.patch(scales, SYSTEM, said, forced)
    assert (type(scale), scale.spec.replicas) == (Scale, 3)
    changed = await client.get(Deployment, "web", "default")
    assert record(changed)["it Apply scale"] == {".spec.replicas"}
    assert ".spec.replicas" not in record(changed)["me Apply"]
    assert changed.spec.template.spec.containers, "the rest is nobody's business here"
    wrong = Patch(PatchType.APPLY, {**said.body, "spec": {"replicas": "three"}})
    with pytest.raises(ApiError, match=r"Kind=Scale\): .spec.replicas: expected numeric"):
        await cluster.backend.patch(scales, SYSTEM, wrong, forced)
    for nothing, why in ((None, "invalid object type: /, Kind="), ([], "cannot unmarshal array")):
        with pytest.raises(ApiError, match=why):
            await cluster.backend.patch(scales, SYSTEM, Patch(PatchType.APPLY, nothing), forced)


async def test_a_change_does_not_begin_a_record(cluster: ControlPlane) -> None:
    quiet = ConfigMap(metadata=ObjectMeta(name="cm", namespace="default"), data={"a": "1"})
    await cluster.client.create(quiet)
    changed = await cluster.client.patch(
        ConfigMap, "cm", {"data": {"b": "2"}}, "default", field_manager="kubectl-patch"
    )
    assert record(changed) == {}
    applied = await apply(cluster, intent(b="2"))
    assert record(applied) == {
        "me Apply": {".data.b"},
        "before-first-apply Update": {".data", ".data.a", ".data.b"},
    }


async def test_a_record_that_was_emptied_stays_empty(cluster: ControlPlane) -> None:
    await apply(cluster, intent(a="1"))
    reset: dict[str, Any] = {"metadata": {"managedFields": [{}]}}
    assert record(await cluster.client.patch(ConfigMap, "cm", reset, "default", field_manager="x")) == {}
    label = {"metadata": {"labels": {"a": "b"}}}
    assert record(await cluster.client.patch(ConfigMap, "cm", label, "default", field_manager="x")) == {}


async def test_subresource_cannot_change_managed_fields(cluster: ControlPlane) -> None:
    client = cluster.client
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"labels": {"a": "b"}}}
    made = await client.patch(Namespace, "team", body, patch_type=PatchType.APPLY, field_manager="me")
    reset = {"metadata": {"managedFields": [{}]}, "status": {"phase": "Active"}}
    kept = await client.patch(Namespace, "team", reset, subresource="status", field_manager="x")
    assert record(kept) == record(made)


async def test_a_record_outlives_an_item_without_its_key(cluster: ControlPlane) -> None:
    """Such a list can be stored; its writer cannot replace the record either."""
    account: dict[str, Any] = {"apiVersion": "v1", "kind": "ServiceAccount", "secrets": [{"name": "s"}]}
    client = cluster.client
    made = await client.patch(
        ServiceAccount, "robot", account, "default", patch_type=PatchType.APPLY, field_manager="me"
    )
    forged = [{"manager": "x", "operation": "Apply", "apiVersion": "v1", "fieldsV1": {"f:secrets": {}}}]
    odd = {"metadata": {"managedFields": forged}, "secrets": [{}]}
    kept = await client.patch(ServiceAccount, "robot", odd, "default", field_manager="x")
    assert kept.secrets[0].name == ""
    assert record(kept) == record(made)


async def test_malformed_managed_fields_are_ignored(cluster: ControlPlane) -> None:
    made = await apply(cluster, intent(a="1"))
    wrong = {"metadata": {"managedFields": [{"manager": "x", "operation": "Rule", "fieldsV1": {}}]}}
    kept = await cluster.client.patch(ConfigMap, "cm", wrong, "default", field_manager="x")
    assert record(kept) == record(made)


async def test_manifests_with_nulls_are_applied_once(cluster: ControlPlane) -> None:
    """Templates and generators write nulls; only the ownership of the field is stored."""
    body = intent(a="1") | {"metadata": {"creationTimestamp": None, "annotations": None}, "immutable": None}
    made = await apply(cluster, body)
    assert (made.metadata.annotations, made.immutable) == ({}, None)
    assert record(made) == {"me Apply": {".metadata.annotations", ".data.a", ".immutable"}}
    assert await apply(cluster, body) == made


async def test_patch_does_not_begin_a_record(cluster: ControlPlane) -> None:
    quiet = ConfigMap(metadata=ObjectMeta(name="cm", namespace="default"), data={"a": "1"})
    await cluster.client.create(quiet)
    entry = {"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsV1": {}}  # of no type
    wrong = {"metadata": {"managedFields": [entry]}, "data": {"b": "2"}}
    kept = await cluster.client.patch(ConfigMap, "cm", wrong, "default", field_manager="x")
    assert (kept.data, record(kept)) == ({"a": "1", "b": "2"}, {})


async def test_a_patch_that_makes_no_object_is_unprocessable(cluster: ControlPlane) -> None:
    await apply(cluster, intent(a="1"))
    with pytest.raises(ApiError) as error:
        await cluster.client.patch(ConfigMap, "cm", {"data": 1}, "default", patch_type=PatchType.STRATEGIC)
    assert error.value.code == 422
    assert 'patch: Invalid value: "map[data:1]"' in str(error.value)


async def test_repeated_string_data_changes_nothing(cluster: ControlPlane) -> None:
    said = {"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "hello"}}

    async def once() -> Secret:
        return await cluster.client.patch(
            Secret, "s", said, "default", patch_type=PatchType.APPLY, field_manager="me"
        )

    made = await once()
    assert made.data == {"a": "aGVsbG8="}
    await cluster.advance(seconds=10)
    assert await once() == made

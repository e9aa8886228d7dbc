"""Server-side apply: conflicts, and the writes that are recorded in managed fields."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs
from msgspec.json import decode

from podling.api.admissionregistration_v1 import MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding
from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.apiserver.registry.managed_fields import component_name
from podling.client.base import PatchType
from podling.client.requests import SYSTEM, Patch, Target, User, WriteOptions
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling.machinery.patches import fieldsets
from podling.machinery.scheme import resource_of
from podling.testing import ControlPlane

MAPS = resource_of(ConfigMap)


async def apply(cluster: ControlPlane, who: str, *, force: bool = False, **data: str) -> ConfigMap:
    body: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "data": data}
    patch = Patch(PatchType.APPLY, body)
    options = WriteOptions(field_manager=who, force=force, apply=True)
    made: ConfigMap = await cluster.backend.patch(Target(MAPS, "default", "cm"), SYSTEM, patch, options)
    return made


def owners(obj: ConfigMap) -> list[str]:
    return [f"{each.manager} {each.operation}" for each in obj.metadata.managed_fields]


async def test_repeated_apply_creates_then_changes_then_writes_nothing(cluster: ControlPlane) -> None:
    made = await apply(cluster, "me", a="1")
    assert (made.metadata.name, made.data, owners(made)) == ("cm", {"a": "1"}, ["me Apply"])
    changed = await apply(cluster, "me", b="2")
    assert changed.data == {"b": "2"}
    same = await apply(cluster, "me", b="2")
    assert same.metadata.resource_version == changed.metadata.resource_version


async def test_apply_of_a_field_of_another_manager_is_a_conflict(cluster: ControlPlane) -> None:
    await apply(cluster, "me", a="1")
    with pytest.raises(ApiError) as error:
        await apply(cluster, "you", a="2")
    assert (error.value.code, str(error.value)) == (
        409,
        'Apply failed with 1 conflict: conflict with "me": .data.a',
    )
    forced = await apply(cluster, "you", force=True, a="2")
    assert forced.data == {"a": "2"}
    assert owners(forced) == ["you Apply"]


async def test_components_are_recorded_only_after_an_apply(cluster: ControlPlane) -> None:
    quiet = ConfigMap(metadata=ObjectMeta(name="quiet", namespace="default"), data={"a": "1"})
    assert owners(await cluster.client.create(quiet)) == []
    await apply(cluster, "me", a="1")
    changed = await cluster.client.patch(ConfigMap, "cm", {"data": {"b": "2"}}, "default")
    assert owners(changed) == ["me Apply", "apiserver Update"]


async def test_a_named_writer_is_recorded(cluster: ControlPlane) -> None:
    body = ConfigMap(metadata=ObjectMeta(name="named", namespace="default"), data={"a": "1"})
    options = WriteOptions(field_manager="kubectl-create")
    made = await cluster.backend.create(Target(MAPS, "default"), SYSTEM, body, options)
    assert owners(made) == ["kubectl-create Update"]


async def mutate(cluster: ControlPlane, expression: str) -> None:
    """A policy that changes every config map on its way in, by a JSON patch."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
    patch = {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}
    spec = {
        "reinvocationPolicy": "Never",
        "matchConstraints": {"resourceRules": [rule]},
        "mutations": [patch],
    }
    made = codec.convert({"metadata": {"name": "p"}, "spec": spec}, MutatingAdmissionPolicy)[0]
    await cluster.client.create(made)
    bound = {"metadata": {"name": "p"}, "spec": {"policyName": "p"}}
    await cluster.client.create(codec.convert(bound, MutatingAdmissionPolicyBinding)[0])


def fields_of(obj: ConfigMap, manager: str) -> set[str]:
    (entry,) = (each for each in obj.metadata.managed_fields if each.manager == manager)
    return {fieldsets.text_of(path) for path in fieldsets.decode(decode(entry.fields_v1))}


async def test_fields_changed_by_admission_have_no_manager(cluster: ControlPlane) -> None:
    await apply(cluster, "me", a="1")
    await mutate(cluster, "[JSONPatch{op: 'add', path: '/data/extra', value: 'x'}]")
    changed = await cluster.client.patch(
        ConfigMap, "cm", {"data": {"b": "2"}}, "default", field_manager="you"
    )
    assert changed.data == {"a": "1", "b": "2", "extra": "x"}
    assert fields_of(changed, "you") == {".data.b"}
    options = WriteOptions(field_manager="they")
    body = structs.replace(changed, data={"a": "1", "c": "3"})
    put = await cluster.backend.update(Target(MAPS, "default", "cm"), SYSTEM, body, options)
    assert put.data == {"a": "1", "c": "3", "extra": "x"}
    assert (fields_of(put, "they"), owners(put)) == ({".data.c"}, ["me Apply", "they Update"])


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("{'manager': 'x', 'operation': 'Rule'}", "operation must be `Apply` or `Update`"),
        ("{'manager': 'x', 'operation': 'Update'}", "apiVersion must not be empty"),
        (
            "{'manager': 'x', 'operation': 'Update', 'apiVersion': 'v1'}",
            "missing fieldsType in managed fields entry 0",
        ),
        (
            "{'manager': 'x', 'operation': 'Update', 'apiVersion': 'v1', 'fieldsType': 'Fields'}",
            'invalid fieldsType "Fields" in managed fields entry 0',
        ),
    ],
)
async def test_a_record_that_admission_damages_is_restored(
    cluster: ControlPlane, entry: str, why: str
) -> None:
    await apply(cluster, "me", a="1")
    await mutate(cluster, f"[JSONPatch{{op: 'replace', path: '/metadata/managedFields', value: [{entry}]}}]")
    told = (
        ".metadata.managedFields was in an invalid state after admission; this could be caused by an "
        f"outdated mutating admission controller; please fix your requests: {why}"
    )
    options = WriteOptions(field_manager="you")
    patch = Patch(PatchType.MERGE, {"data": {"b": "2"}})
    changed = await cluster.backend.patch(Target(MAPS, "default", "cm"), SYSTEM, patch, options)
    assert (owners(changed), options.warnings) == (["me Apply", "you Update"], [told])
    options = WriteOptions(field_manager="you")
    body = ConfigMap(metadata=ObjectMeta(name="new", namespace="default"), data={"a": "1"})
    made = await cluster.backend.create(Target(MAPS, "default"), SYSTEM, body, options)
    assert (owners(made), options.warnings) == (["you Update"], [told])


async def test_conflict_names_each_manager_once(cluster: ControlPlane) -> None:
    owner = OwnerReference(api_version="v1", kind="Node", name="n", uid="u1")
    other = structs.replace(owner, name="m")  # the same UID under another name is another owner
    body = ConfigMap(
        metadata=ObjectMeta(name="owned", namespace="default", owner_references=(owner, other, owner)),
    )
    told = (
        "; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; "
        "please fix your requests; duplicate UID(s) observed: u1"
    )
    before = f".metadata.ownerReferences contains duplicate entries{told}"
    after = f".metadata.ownerReferences contains duplicate entries after mutating admission happens{told}"
    target = Target(MAPS, "default", "owned")
    options = WriteOptions()
    made = await cluster.backend.create(Target(MAPS, "default"), SYSTEM, body, options)
    assert (made.metadata.owner_references, options.warnings) == ((owner, other), [before])
    twice = structs.replace(made.metadata, owner_references=(owner, owner))
    options = WriteOptions()
    put = await cluster.backend.update(target, SYSTEM, structs.replace(made, metadata=twice), options)
    assert (put.metadata.owner_references, options.warnings) == ((owner,), [before])
    said = [{"apiVersion": "v1", "kind": "Node", "name": name, "uid": "u1"} for name in ("n", "m", "m")]
    patch = Patch(PatchType.MERGE, {"metadata": {"ownerReferences": said}})
    options = WriteOptions()
    patched = await cluster.backend.patch(target, SYSTEM, patch, options)
    assert (patched.metadata.owner_references, options.warnings) == ((owner, other), [after])


@pytest.mark.parametrize(
    ("user", "name"),
    [
        ("system:node:n1", "kubelet"),
        ("system:kube-scheduler", "kube-scheduler"),
        ("system:serviceaccount:kube-system:robot", "kube-system/robot"),
        ("bob", "bob"),
        ("", "unknown"),
    ],
)
def test_manager_name_of_a_component(user: str, name: str) -> None:
    assert component_name(User(user)) == name

"""Server-side apply through the server, and which writes are recorded at all."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.ownership import component_name
from podling.client.base import PatchType
from podling.client.local import SYSTEM, Patch, Target, User, WriteOptions
from podling.machinery.errors import ApiError
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


async def test_apply_creates_then_changes_then_rests(cluster: ControlPlane) -> None:
    made = await apply(cluster, "me", a="1")
    assert (made.metadata.name, made.data, owners(made)) == ("cm", {"a": "1"}, ["me Apply"])
    changed = await apply(cluster, "me", b="2")
    assert changed.data == {"b": "2"}
    same = await apply(cluster, "me", b="2")
    assert same.metadata.resource_version == changed.metadata.resource_version


async def test_what_somebody_else_owns_is_a_conflict(cluster: ControlPlane) -> None:
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


async def test_components_are_recorded_only_where_somebody_asks(cluster: ControlPlane) -> None:
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
def test_what_components_are_called(user: str, name: str) -> None:
    assert component_name(User(user)) == name

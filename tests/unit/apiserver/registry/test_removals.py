"""Deletions of objects, shown with ConfigMaps."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import structs

from podling import clock
from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling.store.large_values import LARGE_BYTES
from podling.testing import ControlPlane
from podling.turns import TURN_BYTES
from tests.support.loop_turns import LoopTurns


def config_map(name: str = "", labels: dict[str, str] | None = None, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default", labels=labels or {}), data=data)


def status_of(error: pytest.ExceptionInfo[ApiError]) -> tuple[int, str, str]:
    return error.value.code, error.value.reason, str(error.value)


class TestDelete:
    async def test_object_without_finalizers_is_deleted_at_once(self, cluster: ControlPlane) -> None:
        await cluster.client.create(config_map("a"))
        await cluster.client.delete(ConfigMap, "a", "default")
        with pytest.raises(ApiError) as error:
            await cluster.client.get(ConfigMap, "a", "default")
        assert error.value.reason == "NotFound"

    async def test_object_with_finalizers_is_deleted_after_the_last_is_removed(
        self, cluster: ControlPlane
    ) -> None:
        held = structs.replace(config_map("a").metadata, finalizers=("example.com/wait",))
        await cluster.client.create(structs.replace(config_map("a"), metadata=held))
        await cluster.client.delete(ConfigMap, "a", "default")
        going = await cluster.client.get(ConfigMap, "a", "default")
        assert going.metadata.deletion_timestamp == clock.seconds_precision(clock.now())

        more = structs.replace(going.metadata, finalizers=("example.com/wait", "example.com/more"))
        with pytest.raises(ApiError, match="no new finalizers can be added if the object is being deleted"):
            await cluster.client.update(structs.replace(going, metadata=more))

        free = structs.replace(going.metadata, finalizers=())
        await cluster.client.update(structs.replace(going, metadata=free))
        with pytest.raises(ApiError, match='configmaps "a" not found'):
            await cluster.client.get(ConfigMap, "a", "default")

    async def test_delete_with_another_uid_is_a_conflict(self, cluster: ControlPlane) -> None:
        await cluster.client.create(config_map("a"))
        with pytest.raises(ApiError) as error:
            await cluster.client.delete(ConfigMap, "a", "default", uid="another")
        assert error.value.reason == "Conflict"
        assert "the UID in the precondition (another) does not match the UID in record (" in str(error.value)

    async def test_the_propagation_policy_becomes_a_finalizer(self, cluster: ControlPlane) -> None:
        await cluster.client.create(config_map("a"))
        await cluster.client.delete(ConfigMap, "a", "default", propagation="Foreground")
        going = await cluster.client.get(ConfigMap, "a", "default")
        assert going.metadata.finalizers == ("foregroundDeletion",)


async def test_deletions_of_large_objects_decode_one_in_each_turn(
    cluster: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"large{number}" for number in range(4)]
    for name in names:
        metadata = ObjectMeta(name=name, namespace="default")
        await cluster.client.create(ConfigMap(metadata=metadata, data={"text": "x" * (TURN_BYTES // 2)}))
    await cluster.advance(minutes=1)
    turns = LoopTurns()

    def decoded(data: bytes, kind: type[Any]) -> Any:
        turns.add(len(data) > LARGE_BYTES)
        return decode(data, kind)

    decode = codec.decode
    monkeypatch.setattr(codec, "decode", decoded)
    async with turns:
        await asyncio.gather(*(cluster.client.delete(ConfigMap, name, "default") for name in names))
    assert (turns.most, sum(turns.work.values())) == (1, len(names))

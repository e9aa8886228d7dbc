"""Updates and patches of stored objects, shown with ConfigMaps."""

from __future__ import annotations

import pytest
from msgspec import structs

from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import PatchType
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane


def config_map(name: str = "", labels: dict[str, str] | None = None, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default", labels=labels or {}), data=data)


def status_of(error: pytest.ExceptionInfo[ApiError]) -> tuple[int, str, str]:
    return error.value.code, error.value.reason, str(error.value)


class TestUpdate:
    async def test_a_stale_revision_is_refused(self, cluster: ControlPlane) -> None:
        first = await cluster.client.create(config_map("a"))
        await cluster.client.update(structs.replace(first, data={"k": "1"}))
        with pytest.raises(ApiError) as error:
            await cluster.client.update(structs.replace(first, data={"k": "2"}))
        assert status_of(error) == (
            409,
            "Conflict",
            'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
            "please apply your changes to the latest version and try again",
        )

    async def test_without_a_revision_the_last_writer_wins(self, cluster: ControlPlane) -> None:
        await cluster.client.create(config_map("a"))
        changed = await cluster.client.update(config_map("a", k="2"))
        assert changed.data == {"k": "2"}
        assert changed.metadata.uid

    async def test_changing_nothing_writes_nothing(self, cluster: ControlPlane) -> None:
        first = await cluster.client.create(config_map("a", k="1"))
        again = await cluster.client.update(config_map("a", k="1"))
        assert again.metadata.resource_version == first.metadata.resource_version

    async def test_update_with_another_uid_is_a_conflict(self, cluster: ControlPlane) -> None:
        first = await cluster.client.create(config_map("a"))
        other = structs.replace(first.metadata, uid="another")
        with pytest.raises(ApiError) as error:
            await cluster.client.update(structs.replace(first, metadata=other))
        assert status_of(error) == (
            409,
            "Conflict",
            'Operation cannot be fulfilled on configmaps "a": StorageError: invalid object, Code: 4, '
            "Key: /registry/configmaps/default/a, ResourceVersion: 0, AdditionalErrorMsg: "
            f"Precondition failed: UID in precondition: another, UID in object meta: {first.metadata.uid}",
        )

    async def test_update_of_a_missing_object_is_not_found(self, cluster: ControlPlane) -> None:
        with pytest.raises(ApiError) as error:
            await cluster.client.update(config_map("a"))
        assert status_of(error) == (404, "NotFound", 'configmaps "a" not found')


class TestPatch:
    @pytest.mark.parametrize(
        ("kind", "patch"),
        [
            (PatchType.MERGE, {"data": {"old": None, "new": "1"}}),
            (PatchType.STRATEGIC, {"data": {"old": None, "new": "1"}}),
            (
                PatchType.JSON,
                [{"op": "remove", "path": "/data/old"}, {"op": "add", "path": "/data/new", "value": "1"}],
            ),
        ],
    )
    async def test_each_patch_type_is_applied(
        self, cluster: ControlPlane, kind: PatchType, patch: object
    ) -> None:
        await cluster.client.create(config_map("a", old="0", kept="2"))
        changed = await cluster.client.patch(ConfigMap, "a", patch, "default", patch_type=kind)
        assert changed.data == {"kept": "2", "new": "1"}

    async def test_patch_with_a_stale_resource_version_is_a_conflict(self, cluster: ControlPlane) -> None:
        await cluster.client.create(config_map("a"))
        patch = {"metadata": {"resourceVersion": "1"}, "data": {"k": "v"}}
        with pytest.raises(ApiError) as error:
            await cluster.client.patch(ConfigMap, "a", patch, "default")
        assert error.value.reason == "Conflict"

"""Generic writes of every kind, shown with ConfigMaps: create, update, patch and delete."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from msgspec import structs

from podling import clock, ids
from podling.api.coordination_v1 import Lease
from podling.api.core_v1 import ConfigMap, Event, LimitRange, Namespace
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.registry.creations import NAME_RETRIES
from podling.client.base import PatchType
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


class TestCreate:
    async def test_create_sets_uid_and_creation_timestamp(self, cluster: ControlPlane) -> None:
        made = await cluster.client.create(config_map("a", key="value"))
        assert made.metadata.uid
        assert made.metadata.creation_timestamp == clock.seconds_precision(clock.now())
        assert made.metadata.resource_version == str(cluster.store.revision)
        assert await cluster.client.get(ConfigMap, "a", "default") is made

    async def test_create_of_an_existing_name_is_refused(self, cluster: ControlPlane) -> None:
        await cluster.client.create(config_map("a"))
        with pytest.raises(ApiError) as error:
            await cluster.client.create(config_map("a"))
        assert status_of(error) == (409, "AlreadyExists", 'configmaps "a" already exists')

    async def test_name_of_a_terminating_object_cannot_be_reused(self, cluster: ControlPlane) -> None:
        held = config_map("a")
        held = structs.replace(held, metadata=structs.replace(held.metadata, finalizers=("a.b/c",)))
        await cluster.client.create(held)
        await cluster.client.delete(ConfigMap, "a", "default")
        with pytest.raises(ApiError) as error:
            await cluster.client.create(config_map("a"))
        assert status_of(error) == (
            409,
            "AlreadyExists",
            'object is being deleted: configmaps "a" already exists',
        )

    async def test_name_takes_precedence_over_generate_name(self, cluster: ControlPlane) -> None:
        body = structs.replace(config_map("a"), metadata=ObjectMeta(name="a", generate_name="b-"))
        await cluster.client.create(body, namespace="default")
        with pytest.raises(ApiError, match="was not able to generate a unique name"):
            await cluster.client.create(body, namespace="default")

    async def test_create_with_a_resource_version_is_refused(self, cluster: ControlPlane) -> None:
        body = structs.replace(config_map("a"), metadata=ObjectMeta(name="a", resource_version="7"))
        assert (await cluster.client.create(body, namespace="default", dry_run=True)).metadata.name == "a"
        with pytest.raises(ApiError) as error:
            await cluster.client.create(body, namespace="default")
        assert status_of(error) == (500, "", "resourceVersion should not be set on objects to be created")

    @pytest.mark.parametrize("text", ["v1", "0", "-1", str(2**64)])
    async def test_create_ignores_a_malformed_resource_version(
        self, cluster: ControlPlane, text: str
    ) -> None:
        body = structs.replace(config_map("a"), metadata=ObjectMeta(name="a", resource_version=text))
        created = await cluster.client.create(body, namespace="default")
        assert created.metadata.resource_version == str(cluster.store.revision)

    async def test_update_or_apply_that_creates_ignores_the_resource_version(
        self, cluster: ControlPlane
    ) -> None:
        lease = Lease(metadata=ObjectMeta(name="a", namespace="default", resource_version="7"))
        assert (await cluster.client.update(lease)).metadata.resource_version != "7"
        intent = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"resourceVersion": "7"}}
        made = await cluster.client.patch(
            ConfigMap, "a", intent, "default", patch_type=PatchType.APPLY, field_manager="me"
        )
        assert made.metadata.resource_version == str(cluster.store.revision)

    async def test_names_are_made_from_generate_name(self, cluster: ControlPlane) -> None:
        bare = ConfigMap(metadata=ObjectMeta(generate_name="job-", namespace="default"))
        made = await cluster.client.create(bare)
        assert made.metadata.name != ""
        assert made.metadata.name.startswith("job-")
        assert len(made.metadata.name) == len("job-") + 5

    async def test_limit_range_without_name_is_named_by_a_uuid_that_is_not_its_uid(
        self, cluster: ControlPlane
    ) -> None:
        made = await cluster.client.create(LimitRange(metadata=ObjectMeta(namespace="default")))
        assert re.fullmatch("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", made.metadata.name)
        assert made.metadata.name != made.metadata.uid

    @pytest.mark.parametrize("base", ["job.", "Job-"])
    async def test_generate_name_must_be_a_valid_prefix(self, cluster: ControlPlane, base: str) -> None:
        with pytest.raises(ApiError) as error:
            await cluster.client.create(
                ConfigMap(metadata=ObjectMeta(generate_name=base, namespace="default"))
            )
        assert f'metadata.generateName: Invalid value: "{base}": a lowercase RFC 1123' in status_of(error)[2]

    async def test_an_event_may_have_any_name_that_a_path_can_hold(self, cluster: ControlPlane) -> None:
        event = Event(metadata=ObjectMeta(name="Web: 1", namespace="default", finalizers=("held",)))
        assert (await cluster.client.create(event)).metadata.name == "Web: 1"
        with pytest.raises(ApiError, match="may not contain '/'"):
            metadata = ObjectMeta(name="a/b", namespace="default")
            await cluster.client.create(structs.replace(event, metadata=metadata))

    async def test_causes_come_in_the_order_of_the_metadata(self, cluster: ControlPlane) -> None:
        made = await cluster.client.create(config_map("a"))
        metadata = structs.replace(
            made.metadata, labels={"a b": "c"}, annotations={"/": ""}, finalizers=("mine", "a b")
        )
        with pytest.raises(ApiError) as error:
            await cluster.client.update(structs.replace(made, metadata=metadata))
        details = error.value.status.details
        assert details is not None
        assert list(dict.fromkeys(cause.field_ for cause in details.causes)) == [
            "metadata.labels",
            "metadata.annotations",
            "metadata.finalizers",
            "metadata.finalizers[0]",
            "metadata.finalizers[1]",
        ]

    async def test_create_fails_after_too_many_taken_generated_names(
        self, cluster: ControlPlane, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tried: list[str] = []

        def always_the_same(length: int) -> str:
            tried.append("x" * length)
            return tried[-1]

        monkeypatch.setattr(ids, "suffix", always_the_same)
        bare = ConfigMap(metadata=ObjectMeta(generate_name="job-", namespace="default"))
        await cluster.client.create(bare)
        with pytest.raises(ApiError) as error:
            await cluster.client.create(bare)
        assert len(tried) == 1 + NAME_RETRIES
        assert status_of(error) == (
            409,
            "AlreadyExists",
            'configmaps "job-xxxxx" already exists, the server was not able to generate a unique name '
            "for the object",
        )
        assert error.value.retry_after == 1

    async def test_name_or_generate_name_is_required(self, cluster: ControlPlane) -> None:
        with pytest.raises(ApiError) as error:
            await cluster.client.create(config_map())
        assert status_of(error) == (
            422,
            "Invalid",
            'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
        )

    async def test_a_dry_run_stores_nothing(self, cluster: ControlPlane) -> None:
        before = cluster.store.revision
        made = await cluster.client.create(config_map("a"), dry_run=True)
        assert made.metadata.uid
        assert cluster.store.revision == before

    async def test_the_body_may_not_name_another_namespace(self, cluster: ControlPlane) -> None:
        with pytest.raises(ApiError) as error:
            await cluster.client.create(config_map("a"), namespace="kube-system")
        assert status_of(error)[2] == (
            "the namespace of the provided object does not match the namespace sent on the request"
        )


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


async def test_cluster_scoped_objects_have_no_namespace(cluster: ControlPlane) -> None:
    made = await cluster.client.create(Namespace(metadata=ObjectMeta(name="team")))
    assert made.metadata.namespace == ""
    names = [each.metadata.name for each in (await cluster.client.list(Namespace)).items]
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system", "team"]


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

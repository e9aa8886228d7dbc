"""Creations of objects, shown with ConfigMaps."""

from __future__ import annotations

import re

import pytest
from msgspec import structs

from podling import clock, ids
from podling.api.coordination_v1 import Lease
from podling.api.core_v1 import ConfigMap, Event, LimitRange
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.registry.creations import NAME_RETRIES
from podling.client.base import PatchType
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane


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

"""The contract of every client, in process, over HTTPS and over a Unix socket.

Each test runs three times: in process on virtual time, over real TLS sockets with a client certificate, and
over a real Unix socket.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from podling.api.authentication_v1 import TokenRequest, TokenRequestSpec
from podling.api.coordination_v1 import Lease, LeaseSpec
from podling.api.core_v1 import Binding, ConfigMap, Node, ObjectReference, Pod, ServiceAccount
from podling.api.meta_v1 import ObjectMeta, Status
from podling.api.policy_v1 import Eviction
from podling.apiserver.auth.tokens import Tokens
from podling.client.base import Client, PatchType, Unreachable
from podling.machinery.errors import ApiError, is_conflict, is_not_found
from podling.testing import ControlPlane, memory_cluster
from tests.contract.client_stories import DEADLINE_SECONDS, Play, config_map, pod, serving, take


def test_object_can_be_created_read_changed_and_deleted(play: Play) -> None:
    async def story(cluster: ControlPlane, client: Client) -> None:
        from msgspec import structs

        created = await client.create(config_map("settings", a="1"))
        assert created.metadata.uid
        assert await client.get(ConfigMap, "settings", "default") == created
        updated = await client.update(structs.replace(created, data={"a": "2"}))
        assert updated.data == {"a": "2"}
        assert updated.metadata.resource_version != created.metadata.resource_version
        await client.delete(ConfigMap, "settings", "default", uid=created.metadata.uid)
        with pytest.raises(ApiError) as missing:
            await client.get(ConfigMap, "settings", "default")
        assert is_not_found(missing.value)
        assert str(missing.value) == 'configmaps "settings" not found'

    play(story)


def test_the_namespace_may_be_given_beside_the_object(play: Play) -> None:
    async def story(cluster: ControlPlane, client: Client) -> None:
        created = await client.create(ConfigMap(metadata=ObjectMeta(name="a")), namespace="kube-public")
        assert created.metadata.namespace == "kube-public"
        node = await client.create(Node(metadata=ObjectMeta(name="n1")))
        assert await client.get(Node, "n1") == node

    play(story)


def test_an_old_revision_cannot_be_updated(play: Play) -> None:
    async def story(cluster: ControlPlane, client: Client) -> None:
        from msgspec import structs

        created = await client.create(config_map("settings"))
        await client.update(structs.replace(created, data={"a": "1"}))
        with pytest.raises(ApiError) as conflict:
            await client.update(structs.replace(created, data={"a": "2"}))
        assert is_conflict(conflict.value)
        assert conflict.value.code == 409

    play(story)


@pytest.mark.parametrize(
    ("patch_type", "patch", "data"),
    [
        (PatchType.MERGE, {"data": {"a": None, "b": "2"}}, {"b": "2"}),
        (PatchType.STRATEGIC, {"data": {"b": "2"}}, {"a": "1", "b": "2"}),
        (PatchType.JSON, [{"op": "replace", "path": "/data/a", "value": "3"}], {"a": "3"}),
    ],
)
def test_each_kind_of_patch(play: Play, patch_type: PatchType, patch: object, data: dict[str, str]) -> None:
    async def story(cluster: ControlPlane, client: Client) -> None:
        await client.create(config_map("settings", a="1"))
        patched = await client.patch(ConfigMap, "settings", patch, "default", patch_type=patch_type)
        assert patched.data == data

    play(story)


def test_status_is_written_on_its_own(play: Play) -> None:
    async def story(cluster: ControlPlane, client: Client) -> None:
        await client.create(pod("p"))
        patch = {"status": {"phase": "Running"}, "metadata": {"labels": {"a": "b"}}}
        changed = await client.patch(Pod, "p", patch, "default", subresource="status")
        assert changed.status.phase == "Running"

    play(story)


def test_a_dry_run_changes_nothing(play: Play) -> None:
    async def story(cluster: ControlPlane, client: Client) -> None:
        await client.create(config_map("settings", a="1"), dry_run=True)
        assert (await client.list(ConfigMap, "default")).items == ()
        await client.create(config_map("settings", a="1"))
        await client.patch(ConfigMap, "settings", {"data": {"a": "2"}}, "default", dry_run=True)
        await client.delete(ConfigMap, "settings", "default", dry_run=True)
        assert (await client.get(ConfigMap, "settings", "default")).data == {"a": "1"}

    play(story)


def test_lists_select_and_come_in_pages(play: Play) -> None:
    async def story(cluster: ControlPlane, client: Client) -> None:
        for name in "cab":
            await client.create(config_map(name))
        everything = await client.list(ConfigMap, "default")
        assert [each.metadata.name for each in everything.items] == ["a", "b", "c"]
        assert everything.remaining is None
        assert everything.continue_token == ""
        one = await client.list(ConfigMap, "default", label_selector="app in (b)")
        assert [each.metadata.name for each in one.items] == ["b"]
        other = await client.list(ConfigMap, field_selector="metadata.name=c")
        assert [each.metadata.name for each in other.items] == ["c"]
        first = await client.list(ConfigMap, "default", limit=2)
        assert len(first.items) == 2
        assert first.remaining == 1
        second = await client.list(ConfigMap, "default", limit=2, continue_token=first.continue_token)
        assert [each.metadata.name for each in second.items] == ["c"]
        assert second.resource_version == first.resource_version

    play(story)


def test_listed_object_has_its_kind(play: Play) -> None:
    async def story(cluster: ControlPlane, client: Client) -> None:
        await client.create(config_map("a"))
        (held,) = (await client.list(ConfigMap, "default")).items
        assert (held.api_version, held.kind) == ("v1", "ConfigMap")

    play(story)


def test_errors_carry_the_servers_reasons(play: Play) -> None:
    async def story(cluster: ControlPlane, client: Client) -> None:
        bad = ConfigMap(metadata=ObjectMeta(name="Not Allowed", namespace="default"))
        with pytest.raises(ApiError) as invalid:
            await client.create(bad)
        assert (invalid.value.code, invalid.value.reason) == (422, "Invalid")
        assert invalid.value.status.details is not None
        assert invalid.value.status.details.causes[0].field_ == "metadata.name"
        await client.create(config_map("a"))
        with pytest.raises(ApiError) as exists:
            await client.create(config_map("a"))
        assert str(exists.value) == 'configmaps "a" already exists'

    play(story)


def test_a_precondition_that_does_not_hold_is_a_conflict(play: Play) -> None:
    async def story(cluster: ControlPlane, client: Client) -> None:
        await client.create(config_map("a"))
        with pytest.raises(ApiError) as conflict:
            await client.delete(ConfigMap, "a", "default", uid="another")
        assert is_conflict(conflict.value)
        assert "the UID in the precondition (another) does not match" in str(conflict.value)

    play(story)


def test_pods_are_deleted_with_grace(play: Play) -> None:
    async def story(cluster: ControlPlane, client: Client) -> None:
        await client.create(pod("p"))
        binding = Binding(metadata=ObjectMeta(name="p"), target=ObjectReference(kind="Node", name="n1"))
        await client.create_subresource(Pod, "p", "binding", binding, "default")
        await client.delete(Pod, "p", "default", grace_seconds=7)
        held = await client.get(Pod, "p", "default")
        assert held.metadata.deletion_grace_period_seconds == 7
        await client.delete(Pod, "p", "default", grace_seconds=0)
        assert (await client.list(Pod, "default")).items == ()

    play(story)


def test_subresources_return_their_own_kinds(play: Play) -> None:
    async def story(cluster: ControlPlane, client: Client) -> None:
        await client.create(pod("p"))
        eviction = Eviction(metadata=ObjectMeta(name="p", namespace="default"))
        answer = await client.create_subresource(Pod, "p", "eviction", eviction, "default")
        assert isinstance(answer, Status)
        assert answer.status == "Success"

    play(story)


def test_moments_keep_their_precision(play: Play) -> None:
    async def story(cluster: ControlPlane, client: Client) -> None:
        from podling import clock

        now = clock.now().replace(microsecond=123456)
        lease = Lease(
            metadata=ObjectMeta(name="l", namespace="kube-node-lease"), spec=LeaseSpec(renew_time=now)
        )
        created = await client.create(lease)
        assert created.spec.renew_time == now
        assert created.metadata.creation_timestamp is not None
        assert created.metadata.creation_timestamp.microsecond == 0

    play(story)


def test_requests_to_a_stopped_server_are_unreachable(tmp_path: Path) -> None:
    """Over sockets only: a watch ends with its server, and later requests fail."""

    async def story() -> None:
        async with memory_cluster() as cluster, serving(cluster, tmp_path) as (server, client):
            async with asyncio.timeout(DEADLINE_SECONDS):
                start = (await client.list(ConfigMap)).resource_version
                stream = client.watch(ConfigMap, resource_version=start)
                await client.create(config_map("a"))
                assert (await anext(stream)).object.metadata.name == "a"
                await server.stop()
                assert await take(stream, 1) == []
                with pytest.raises(Unreachable, match="GET https://127"):
                    await client.get(ConfigMap, "a", "default")

    with asyncio.Runner() as runner:
        runner.run(story())


def test_service_account_token_is_created(play: Play) -> None:
    async def story(cluster: ControlPlane, client: Client) -> None:
        account = ServiceAccount(metadata=ObjectMeta(name="robot", namespace="default"))
        await client.create(account)
        body = TokenRequest(spec=TokenRequestSpec(expiration_seconds=3600))
        cluster.backend.serve({("", "serviceaccounts", "token"): Tokens(cluster.server.objects).request})
        answer = await client.create_subresource(ServiceAccount, "robot", "token", body, "default")
        assert isinstance(answer, TokenRequest)
        assert (answer.status.token or "").count(".") == 2

    play(story)

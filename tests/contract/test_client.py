"""What every client promises, whichever way it reaches the API server.

Each story runs twice: in process on virtual time, and over real TLS sockets with a client certificate.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from podling.api.authentication_v1 import TokenRequest, TokenRequestSpec
from podling.api.coordination_v1 import Lease, LeaseSpec
from podling.api.core_v1 import (
    Binding,
    ConfigMap,
    Container,
    Namespace,
    Node,
    ObjectReference,
    Pod,
    PodSpec,
    ServiceAccount,
)
from podling.api.meta_v1 import ObjectMeta, Status
from podling.api.policy_v1 import Eviction
from podling.apiserver.app import HttpServer, Serving
from podling.apiserver.authn import Authenticator
from podling.apiserver.kubeconfig import kubeconfig, write_kubeconfig
from podling.apiserver.pki import Pki
from podling.apiserver.tokens import Tokens
from podling.client.base import Client, Key, PatchType, Unreachable, WatchEvent, WatchEventType
from podling.client.http import HttpClient
from podling.client.informer import Informer
from podling.machinery.errors import ApiError, is_conflict, is_expired, is_not_found
from podling.sim.loop import run
from podling.testing import ControlPlane, memory_cluster

Story = Callable[[ControlPlane, Client], Awaitable[None]]
Play = Callable[[Story], None]

DEADLINE_SECONDS = 20


async def in_process(story: Story) -> None:
    async with memory_cluster() as cluster:
        await story(cluster, cluster.client)


async def over_tls(story: Story, folder: Path) -> None:
    async with memory_cluster() as cluster, serving(cluster, folder) as (_, client):
        async with asyncio.timeout(DEADLINE_SECONDS):
            await story(cluster, client)


@asynccontextmanager
async def serving(cluster: ControlPlane, folder: Path) -> AsyncIterator[tuple[HttpServer, HttpClient]]:
    """The cluster's API server on a real socket, and a client with an administrator's kubeconfig."""
    pki = Pki(folder / "pki")
    authenticator = Authenticator(Tokens(cluster.server.objects))
    certificate = pki.server("test", ["127.0.0.1"])
    listening = Serving(port=0, certificate=certificate, client_ca=pki.ca)
    server = HttpServer(cluster.server, authenticator, listening)
    await server.start()
    url = f"https://127.0.0.1:{server.port}"
    path = folder / "kubeconfig"
    write_kubeconfig(path, kubeconfig(url, pki.ca_pem, pki.admin(), user="admin", name="test"))
    client = HttpClient.from_kubeconfig(path)
    try:
        yield server, client
    finally:
        await client.close()
        await server.stop()


@pytest.fixture(params=["in process", "over TLS"])
def play(request: pytest.FixtureRequest, tmp_path: Path) -> Play:
    """Tells a story to one of the two."""
    if request.param == "in process":
        return lambda story: run(in_process(story))

    def real(story: Story) -> None:
        with asyncio.Runner() as runner:
            runner.run(over_tls(story, tmp_path))

    return real


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default", labels={"app": name}), data=data)


def pod(name: str) -> Pod:
    spec = PodSpec(
        containers=(Container(name="main", image="busybox"),), automount_service_account_token=False
    )
    return Pod(metadata=ObjectMeta(name=name, namespace="default"), spec=spec)


def test_what_is_created_can_be_read_changed_and_deleted(play: Play) -> None:
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


def test_a_listed_object_knows_its_kind(play: Play) -> None:
    async def story(cluster: ControlPlane, client: Client) -> None:
        await client.create(config_map("a"))
        (held,) = (await client.list(ConfigMap, "default")).items
        assert (held.api_version, held.kind) == ("v1", "ConfigMap")

    play(story)


async def take(stream: AsyncIterator[WatchEvent[ConfigMap]], count: int) -> list[tuple[str, str]]:
    seen: list[tuple[str, str]] = []
    async for event in stream:
        if event.type is not WatchEventType.BOOKMARK:
            seen.append((event.type.value, event.object.metadata.name or ""))
        if len(seen) == count:
            break
    return seen


def test_a_watch_tells_every_change_after_its_start(play: Play) -> None:
    async def story(cluster: ControlPlane, client: Client) -> None:
        await client.create(config_map("before"))
        start = (await client.list(ConfigMap, "default")).resource_version
        await client.create(config_map("a"))
        await client.patch(ConfigMap, "a", {"data": {"x": "1"}}, "default")
        await client.delete(ConfigMap, "a", "default")
        stream = client.watch(ConfigMap, "default", resource_version=start)
        assert await take(stream, 3) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]

    play(story)


def test_a_watch_follows_its_selection(play: Play) -> None:
    async def story(cluster: ControlPlane, client: Client) -> None:
        start = (await client.list(ConfigMap, "default")).resource_version
        await client.create(config_map("a"))
        await client.create(config_map("b"))
        await client.patch(ConfigMap, "b", {"metadata": {"labels": {"app": "other"}}}, "default")
        stream = client.watch(ConfigMap, "default", resource_version=start, label_selector="app=b")
        assert await take(stream, 2) == [("ADDED", "b"), ("DELETED", "b")]

    play(story)


def test_a_watch_carries_objects_of_any_size(play: Play) -> None:
    async def story(cluster: ControlPlane, client: Client) -> None:
        start = (await client.list(ConfigMap, "default")).resource_version
        big = "x" * 600_000
        await client.create(config_map("big", text=big))
        async for event in client.watch(ConfigMap, "default", resource_version=start):
            if event.type is WatchEventType.ADDED:
                assert event.object.data == {"text": big}
                break

    play(story)


def test_a_watch_from_a_forgotten_revision_says_so(play: Play) -> None:
    async def story(cluster: ControlPlane, client: Client) -> None:
        start = (await client.list(ConfigMap, "default")).resource_version
        for number in range(3):
            await client.create(config_map(f"m{number}"))
        await cluster.store.compact(cluster.store.revision)
        with pytest.raises(ApiError) as gone:
            await take(client.watch(ConfigMap, "default", resource_version=start), 1)
        assert is_expired(gone.value)
        assert gone.value.code == 410

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


def test_subresources_answer_with_what_they_answer(play: Play) -> None:
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


def test_an_informer_follows(play: Play) -> None:
    async def story(cluster: ControlPlane, client: Client) -> None:
        informer = Informer(client, Namespace)
        arrived = asyncio.Event()
        informer.add_handler(lambda obj: arrived.set() if obj.metadata.name == "team" else None)
        task = asyncio.create_task(informer.run())
        await informer.synced()
        assert informer.get(Key("", "default")) is not None
        await client.create(Namespace(metadata=ObjectMeta(name="team")))
        await arrived.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    play(story)


def test_what_nobody_answers_is_unreachable(tmp_path: Path) -> None:
    """Only sockets can be cut: a watch ends with its server, and then nobody answers."""

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


def test_service_accounts_ask_for_tokens(play: Play) -> None:
    async def story(cluster: ControlPlane, client: Client) -> None:
        account = ServiceAccount(metadata=ObjectMeta(name="robot", namespace="default"))
        await client.create(account)
        body = TokenRequest(spec=TokenRequestSpec(expiration_seconds=3600))
        cluster.backend.serve({("", "serviceaccounts", "token"): Tokens(cluster.server.objects).request})
        answer = await client.create_subresource(ServiceAccount, "robot", "token", body, "default")
        assert isinstance(answer, TokenRequest)
        assert (answer.status.token or "").count(".") == 2

    play(story)

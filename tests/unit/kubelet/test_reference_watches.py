"""Watches of ConfigMaps and Secrets: who follows what, what counts as a change, what is read from where."""

from __future__ import annotations

import pytest

from podling import clock
from podling.api.core_v1 import ConfigMap, Secret
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Listing
from podling.client.requests import User
from podling.kubelet.reference_watches import SYNC_SECONDS, VARIABLES, VOLUMES, ReferenceWatches
from podling.machinery.errors import ApiError
from podling.machinery.pod_references import CLAIMS, CONFIG_MAPS, SECRETS, Reference
from podling.testing import ControlPlane

ONE: Reference = (CONFIG_MAPS, "default", "one")
TWO: Reference = (SECRETS, "default", "two")


def config_map(value: str, *, immutable: bool | None = None) -> ConfigMap:
    metadata = ObjectMeta(name="one", namespace="default")
    return ConfigMap(metadata=metadata, data={"key": value}, immutable=immutable)


class Followed:
    """Watches over the cluster's client, with all changes that they reported."""

    def __init__(self, cluster: ControlPlane) -> None:
        self.client = cluster.client
        self.changes: list[tuple[str, str]] = []
        self.changed: set[Reference] = set()
        self.watches = ReferenceWatches(self.client, self._note)

    def _note(self, uid: str, use: str, reference: Reference) -> None:
        self.changes.append((uid, use))
        self.changed.add(reference)

    async def value(self) -> str:
        return (await self.watches.get(ConfigMap, "one", "default")).data["key"]

    async def changes_within(self, seconds: float) -> list[tuple[str, str]]:
        await clock.sleep(seconds)
        found, self.changes[:] = list(self.changes), []
        return found


@pytest.fixture
def followed(cluster: ControlPlane) -> Followed:
    return Followed(cluster)


async def test_followers_are_woken_by_changes_and_read_them(followed: Followed) -> None:
    created = await followed.client.create(config_map("1"))
    followed.watches.follow("pod-a", VOLUMES, [ONE])
    followed.watches.follow("pod-b", VOLUMES, [ONE, TWO])
    assert await followed.value() == "1"
    assert await followed.changes_within(1) == [], "the first list shows what is read anyway"
    changed = ConfigMap(metadata=created.metadata, data={"key": "2"})
    await followed.client.update(changed)
    assert sorted(await followed.changes_within(0.1)) == [("pod-a", VOLUMES), ("pod-b", VOLUMES)]
    assert followed.changed == {ONE}
    assert await followed.value() == "2"
    await followed.client.delete(ConfigMap, "one", "default")
    assert sorted(await followed.changes_within(0.1)) == [("pod-a", VOLUMES), ("pod-b", VOLUMES)]
    with pytest.raises(ApiError, match="not found"):
        await followed.value()
    await followed.watches.close()


async def test_objects_are_watched_as_long_as_a_pod_follows_them(followed: Followed) -> None:
    watches = followed.watches
    watches.follow("pod-a", VOLUMES, [ONE, TWO, (CLAIMS, "default", "data")])
    watches.follow("pod-a", VARIABLES, [ONE])
    watches.follow("pod-b", VOLUMES, [ONE])
    assert len(watches) == 2, "one for each object; claims may not be watched by kubelets"
    watches.follow("pod-a", VOLUMES, [])
    assert len(watches) == 1
    watches.forget("pod-b")
    assert len(watches) == 1
    watches.forget("pod-a")
    assert len(watches) == 0
    await followed.client.create(config_map("1"))
    assert await followed.changes_within(1) == []
    await watches.close()


async def test_immutable_objects_are_read_once_and_not_watched(followed: Followed) -> None:
    await followed.client.create(config_map("1", immutable=True))
    followed.watches.follow("pod-a", VOLUMES, [ONE])
    assert await followed.value() == "1"
    assert len(followed.watches) == 0
    await followed.client.delete(ConfigMap, "one", "default")
    await followed.client.create(config_map("2", immutable=True))
    assert await followed.value() == "1", "a pod keeps the immutable object that it began with"
    followed.watches.follow("pod-a", VOLUMES, [])
    assert await followed.value() == "2"
    await followed.watches.close()


async def test_object_that_becomes_immutable_is_reported_and_watched_no_more(followed: Followed) -> None:
    created = await followed.client.create(config_map("1"))
    followed.watches.follow("pod-a", VOLUMES, [ONE])
    assert await followed.value() == "1"
    await followed.client.update(ConfigMap(metadata=created.metadata, data={"key": "2"}, immutable=True))
    assert await followed.changes_within(0.1) == [("pod-a", VOLUMES)]
    assert (await followed.value(), len(followed.watches)) == ("2", 0)
    await followed.watches.close()


@pytest.mark.parametrize("watched_before", [False, True])
async def test_late_followers_learn_of_objects_that_came_meanwhile(
    followed: Followed, watched_before: bool
) -> None:
    """A pod reads nothing, the object comes, and only then the pod follows it."""
    if watched_before:
        followed.watches.follow("pod-a", VOLUMES, [ONE])
        await clock.sleep(1)
    await followed.client.create(config_map("1"))
    await followed.changes_within(1)
    followed.watches.follow("pod-b", VARIABLES, [ONE], late=True)
    assert await followed.changes_within(1) == [("pod-b", VARIABLES)]
    followed.watches.follow("pod-b", VARIABLES, [ONE], late=True)
    assert await followed.changes_within(1) == [], "it has been reported"
    await followed.watches.close()


class SlowLists:
    """A client whose lists take a time, as those of a server under load do."""

    def __init__(self, cluster: ControlPlane) -> None:
        self.seconds = 0.0
        self._client = cluster.client_for(User("admin", ("system:masters",)))
        self.get, self.watch = self._client.get, self._client.watch

    async def list(self, *args: object, **options: object) -> Listing[Secret]:
        await clock.sleep(self.seconds)
        found: Listing[Secret] = await self._client.list(*args, **options)  # type: ignore[arg-type]
        return found


async def test_readers_do_not_wait_long_for_a_watch(cluster: ControlPlane) -> None:
    """The object is read without the watch; it may have changed when the watch begins."""
    await cluster.client.create(config_map("1"))
    slow, changes = SlowLists(cluster), []
    slow.seconds = 30
    watches = ReferenceWatches(slow, lambda uid, use, changed: changes.append(uid))  # type: ignore[arg-type]
    watches.follow("pod-a", VOLUMES, [ONE])
    began = clock.monotonic()
    assert (await watches.get(ConfigMap, "one", "default")).data == {"key": "1"}
    assert clock.monotonic() - began == pytest.approx(SYNC_SECONDS, abs=0.1)
    await clock.sleep(60)
    assert changes == ["pod-a"]
    await watches.close()

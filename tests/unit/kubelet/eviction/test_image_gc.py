"""Image garbage collection: as tables, and on a simulated node."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.api.core_v1 import Event, Pod
from podling.kubelet.config import KubeletConfig
from podling.kubelet.eviction.image_gc import ImageTimes, bytes_to_free, removable_images, update_times
from podling.kubelet.node.node_pressure import Observation
from podling.runtime.image_service import Image
from podling.runtime.sim import Scenario
from podling.testing import ControlPlane
from tests.support.kubelet_node import SimNode, pod, sim_node

START = datetime(2026, 1, 1, tzinfo=UTC)
TWO_MINUTES = timedelta(minutes=2)


def at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def images(*names: str) -> list[Image]:
    return [Image(id=name, pinned=name == "pinned") for name in names]


def test_times_of_images_are_updated() -> None:
    first = update_times({}, images("a", "b"), {"a"}, at(0), first=True)
    assert first == {"a": ImageTimes(None, at(0)), "b": ImageTimes(None, None)}
    second = update_times(first, images("a", "c"), {"c"}, at(5))
    assert second == {"a": ImageTimes(None, at(0)), "c": ImageTimes(at(5), at(5))}


@pytest.mark.parametrize(
    ("seen", "order"),
    [
        ({"a": ImageTimes(), "b": ImageTimes(at(1), at(2)), "c": ImageTimes(at(1))}, ["a", "c", "b"]),
        ({"a": ImageTimes(at(0), at(10)), "b": ImageTimes(at(0), at(5))}, ["b"]),
        ({"a": ImageTimes(at(9)), "b": ImageTimes(at(8))}, ["b"]),
        ({"pinned": ImageTimes()}, []),
    ],
    ids=["longest unused first", "in use", "too young", "pinned"],
)
def test_images_unused_longest_are_removed_first(seen: dict[str, ImageTimes], order: list[str]) -> None:
    assert [image.id for image in removable_images(images(*seen), seen, at(10), TWO_MINUTES)] == order


@pytest.mark.parametrize(("available", "wanted"), [(100, 0), (16, 0), (15, 5), (14, 6), (0, 20), (300, 0)])
def test_bytes_to_free_follow_the_thresholds(available: int, wanted: int) -> None:
    assert bytes_to_free(Observation(available, 100), 85, 80) == wanted


@given(st.integers(0, 10**15), st.integers(1, 10**15), st.integers(0, 100), st.integers(0, 100))
def test_bytes_to_free_reach_the_low_threshold_exactly(
    available: int, capacity: int, one: int, other: int
) -> None:
    low, high = sorted((one, other))
    wanted = bytes_to_free(Observation(available, capacity), high, low)
    left = min(available, capacity) + max(wanted, 0)
    assert left <= capacity
    if wanted > 0:
        assert left == capacity * (100 - low) // 100


CONFIG: dict[str, Any] = {
    "node_addresses": ("192.168.0.10",),
    "capacity": {"cpu": "4", "memory": "8Gi", "ephemeral-storage": "100M"},
    "write_files": False,
    "eviction_hard": {},
}
"""Ten images of the simulated registry fill the disk."""


@pytest.fixture
async def node(cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[SimNode]:
    async with sim_node(cluster, tmp_path, Scenario(), KubeletConfig(**CONFIG)) as found:
        yield found


def user(image: str, **spec: Any) -> Pod:
    return pod(image, containers=[{"name": "app", "image": f"{image}:1"}], **spec)


async def here(node: SimNode) -> str:
    found = await node.runtime.images.list_images()
    return "".join(sorted(image.tags[0].rpartition("/")[2].removesuffix(":1") for image in found))


async def warnings_of(node: SimNode) -> list[tuple[str, str, int]]:
    listing = await node.client.list(Event, "default")
    about = [event for event in listing.items if event.involved_object.kind == "Node"]
    about = [event for event in about if event.type == "Warning"]
    return sorted((e.reason or "", e.message or "", e.count or 1) for e in about)


async def test_full_disk_loses_unused_images(node: SimNode) -> None:
    for name in "abcdefghi":
        await node.create(user(name))
    await node.pass_time(301)
    for name in "hgf":
        await node.delete(name)
    await node.pass_time(300)
    assert await here(node) == "abcdeghi"


async def test_images_in_use_stay_and_the_node_says_so(node: SimNode) -> None:
    for name in "abcdefgh":
        await node.create(user(name))
    await node.create(user("i", volumes=[{"name": "data", "image": {"reference": "volume:1"}}]))
    await node.pass_time(301)
    text = (
        "Failed to garbage collect required amount of images. "
        "Attempted to free 20000000 bytes, but only found 0 bytes eligible to free."
    )
    assert await warnings_of(node) == [("FreeDiskSpaceFailed", text, 1)]
    await node.pass_time(300)
    assert await warnings_of(node) == [("FreeDiskSpaceFailed", text, 2), ("ImageGCFailed", text, 1)]
    assert await here(node) == "abcdefghivolume"


async def test_loaded_image_stays_until_disk_pressure(cluster: ControlPlane, tmp_path: Path) -> None:
    config = KubeletConfig(
        **CONFIG | {"eviction_hard": {"nodefs.available": "5%"}, "image_minimum_gc_age": 0}
    )
    async with sim_node(cluster, tmp_path, Scenario(), config) as node:
        await node.runtime.images.load(Path("x.tar"), [f"{name}:1" for name in "abcdefghi"])
        await node.pass_time(301)
        assert await here(node) == "abcdefghi"
        await node.create(user("j", restartPolicy="Never", script={}))
        await node.pass_time(11)
        assert await here(node) == "j"
        assert (await node.get("j")).status.phase == "Running"


async def test_under_disk_pressure_ended_pods_lose_their_containers_first(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    config = KubeletConfig(
        **CONFIG | {"eviction_hard": {"nodefs.available": "85%"}, "image_minimum_gc_age": 0}
    )
    async with sim_node(cluster, tmp_path, Scenario(), config) as node:
        await node.create(pod("done", restartPolicy="Never", script={"runs": [{"seconds": 1}]}))
        await node.create(user("b"))
        await node.pass_time(9)
        assert len(await node.runtime.list_containers()) == 2
        await node.pass_time(2)
        (left,) = await node.runtime.list_containers()
        assert left.image.startswith("b")
        assert (await node.get("done")).status.phase == "Succeeded"
        assert (await node.get("b")).status.phase == "Running"


@pytest.mark.parametrize(("reclaim", "phase"), [("0", "Running"), ("10%", "Failed")])
async def test_pod_is_evicted_unless_removing_images_frees_the_minimum(
    reclaim: str, phase: str, cluster: ControlPlane, tmp_path: Path
) -> None:
    pressed = {
        "eviction_hard": {"nodefs.available": "85%"},
        "eviction_minimum_reclaim": {"nodefs.available": reclaim},
        "image_minimum_gc_age": 0,
    }
    async with sim_node(cluster, tmp_path, Scenario(), KubeletConfig(**CONFIG | pressed)) as node:
        await node.create(pod("done", restartPolicy="Never", script={"runs": [{"seconds": 1}]}))
        await node.create(user("b"))
        await node.pass_time(15)
        assert (await node.get("b")).status.phase == phase


async def test_image_beyond_maximum_age_is_removed(cluster: ControlPlane, tmp_path: Path) -> None:
    config = KubeletConfig(**CONFIG | {"image_maximum_gc_age": 900.0})
    async with sim_node(cluster, tmp_path, Scenario(), config) as node:
        for name in "ab":
            await node.create(user(name))
        await node.pass_time(310)
        await node.delete("b")
        await node.pass_time(880)
        assert await here(node) == "ab"
        await node.pass_time(330)
        assert await here(node) == "a"

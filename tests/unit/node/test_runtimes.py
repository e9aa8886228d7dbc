"""Runtimes of nodes by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.node.runtimes import STATE, NodePlan, end_all, make_runtime
from podling.runtime.images.store import ImageStore
from podling.runtime.process.runtime import ProcessRuntime
from podling.runtime.sim.runtime import SimRuntime


def plan(root: Path, runtime: str, index: int = 0) -> NodePlan:
    return NodePlan(name="one", index=index, runtime=runtime, root=root, cluster_id="c1", address="127.0.0.1")


@pytest.fixture
def images(tmp_path: Path) -> ImageStore:
    return ImageStore(tmp_path / "images")


@pytest.mark.parametrize(("name", "kind"), [("process", ProcessRuntime), ("sim", SimRuntime)])
def test_runtime_is_made_by_name(tmp_path: Path, images: ImageStore, name: str, kind: type[object]) -> None:
    assert isinstance(make_runtime(plan(tmp_path, name), images), kind)


def test_unknown_runtime_is_refused(tmp_path: Path, images: ImageStore) -> None:
    with pytest.raises(ValueError, match="no runtime is called 'docker'"):
        make_runtime(plan(tmp_path, "docker"), images)


def test_state_of_node_is_unique_on_the_machine(tmp_path: Path) -> None:
    assert [plan(tmp_path, "oci", index).state for index in (0, 1)] == [STATE / "c1-0", STATE / "c1-1"]


@pytest.mark.asyncio(loop_factories=["real"])
async def test_node_without_containers_ends_no_pods(tmp_path: Path, images: ImageStore) -> None:
    assert await end_all(plan(tmp_path, "process"), images, 0) == 0

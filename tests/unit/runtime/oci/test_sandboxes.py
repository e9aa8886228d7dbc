"""Creation of sandboxes: its parts overlap, and none outlives a failure of another."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from podling.runtime.base import LinuxResources, RuntimeFailure, SandboxSpec
from podling.runtime.oci import sandbox as namespaces
from podling.runtime.oci.sandbox import Place
from podling.runtime.oci.sandboxes import Sandboxes

pytestmark = pytest.mark.asyncio(loop_factories=["real"])  # threads do not know virtual time

DEADLINE_SECONDS = 10.0


class Cgroups:
    def __init__(self, error: OSError | None = None) -> None:
        self.error = error
        self.removed: list[str] = []

    def create(self, path: str, resources: LinuxResources) -> None:
        if self.error is not None:
            raise self.error

    def remove(self, path: str) -> None:
        self.removed.append(path)

    def remove_if_empty(self, path: str) -> None:
        return


class Network:
    """Connects a pod once ``allowed`` is set."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.begun = asyncio.Event()
        self.allowed = asyncio.Event()

    async def attach(self, sandbox_id: str, namespace: Path, spec: SandboxSpec) -> tuple[str, ...]:
        self.begun.set()
        try:
            await self.allowed.wait()
        finally:
            self.calls.append("attach ended")
        return ("10.0.0.2",)

    async def detach(self, sandbox_id: str, namespace: Path) -> None:
        self.calls.append("detached")


@pytest.fixture
def network() -> Network:
    return Network()


def sandboxes(
    tmp_path: Path, network: Network, cgroups: Cgroups, monkeypatch: pytest.MonkeyPatch
) -> Sandboxes:
    monkeypatch.setattr(namespaces, "make_namespaces", lambda *_: None)
    host: Any = SimpleNamespace(
        root=tmp_path,
        cgroup_parent="/pods",
        cgroups=cgroups,
        network=network,
        warm_up=SimpleNamespace(wait=lambda: None),
        place=lambda id_: Place(tmp_path / "state" / id_),
        by_handler=lambda _: SimpleNamespace(engine=SimpleNamespace(name="crun")),
    )
    containers: Any = SimpleNamespace(of=lambda _: [])
    made = Sandboxes(host, containers)
    made.records.load()
    return made


def spec(tmp_path: Path) -> SandboxSpec:
    return SandboxSpec(pod_uid="u", pod_name="p", pod_namespace="default", log_directory=tmp_path / "logs")


async def test_network_is_connected_while_the_cgroup_is_made(
    tmp_path: Path, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    network.allowed.set()
    made = await sandboxes(tmp_path, network, Cgroups(), monkeypatch).run(spec(tmp_path))
    assert (made.ips, made.ready) == (("10.0.0.2",), True)


async def test_cgroup_that_cannot_be_made_takes_the_network_back(
    tmp_path: Path, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    cgroups = Cgroups(OSError(28, "No space left on device"))
    boxes = sandboxes(tmp_path, network, cgroups, monkeypatch)
    async with asyncio.timeout(DEADLINE_SECONDS):
        with pytest.raises(RuntimeFailure, match="No space left on device"):
            await boxes.run(spec(tmp_path))
    assert network.calls[-1] == "detached"
    assert cgroups.removed
    assert boxes.records.all() == ()


async def test_cancelled_creation_ends_every_part_before_it_is_undone(
    tmp_path: Path, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    boxes = sandboxes(tmp_path, network, Cgroups(), monkeypatch)
    running = asyncio.create_task(boxes.run(spec(tmp_path)))
    async with asyncio.timeout(DEADLINE_SECONDS):
        await network.begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert network.calls == ["attach ended", "detached"]
    assert boxes.records.all() == ()

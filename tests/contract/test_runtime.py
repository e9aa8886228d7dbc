"""The contract between kubelet and runtime, tested on each runtime.

Every runtime passes ``RuntimeContract``, the simulated one too. ``ProgramContract`` adds tests for runtimes
that run real programs.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from podling import ids
from podling.runtime.base import Runtime
from podling.runtime.process import ProcessRuntime
from podling.runtime.sim import SimRuntime
from tests.contract.runtime_harness import Harness, NoNetwork
from tests.contract.runtime_lives import LivesContract
from tests.contract.runtime_programs import ProgramsContract
from tests.contract.runtime_streams import StreamsContract
from tests.support.images import busybox_archive


class RuntimeContract(LivesContract, StreamsContract):
    """Tests that every runtime passes."""


class ProgramContract(RuntimeContract, ProgramsContract):
    """Tests that runtimes pass which run programs."""


@pytest.mark.asyncio(loop_factories=["virtual"])
class TestSimRuntime(RuntimeContract):
    @pytest.fixture
    async def harness(self, tmp_path: Path) -> AsyncIterator[Harness]:
        runtime = SimRuntime()
        await runtime.start()
        image = await runtime.images.pull("shell")

        async def make_image() -> str:
            await runtime.images.pull("example.org/thing:1")
            return "example.org/thing:1"

        yield Harness(runtime, tmp_path / "logs", image.id, make_image)
        await runtime.close()


@pytest.mark.asyncio(loop_factories=["uvloop"])
class TestSimRuntimeOnUvloop(TestSimRuntime):
    """The same tests in real time, on the event loop of real clusters."""


def _cannot_run_containers() -> str:
    """Return why real containers cannot run here; empty when they can."""
    if sys.platform != "linux":
        return "real containers need Linux"
    from podling.runtime.oci import detect

    choice = detect.choose(detect.gather())
    return "" if choice.engine is not None else "; ".join(choice.why)


@pytest.mark.e2e
@pytest.mark.root
class TestOciRuntime(ProgramContract):
    @pytest.fixture
    async def harness(self, tmp_path: Path) -> AsyncIterator[Harness]:
        if why := _cannot_run_containers():
            pytest.skip(why)
        from podling.runtime.images.store import ImageStore
        from podling.runtime.oci.runtime import OciRuntime

        cluster = f"contract-{ids.suffix()}"

        def make() -> Runtime:
            images = ImageStore(tmp_path / "images")
            return OciRuntime(tmp_path / "root", tmp_path / "state", images, NoNetwork(), cluster_id=cluster)

        runtime = make()
        await runtime.start()
        image = await runtime.images.pull("podling.local/host")

        async def make_image() -> str:
            archive = tmp_path / "thing.tar"
            busybox_archive(archive, "example.org/thing:1")
            await runtime.images.load(archive)
            return "example.org/thing:1"

        harness = Harness(runtime, tmp_path / "logs", image.id, make_image, make)
        yield harness
        for sandbox in await harness.runtime.list_sandboxes():
            await harness.runtime.remove_sandbox(sandbox.id)
        await harness.runtime.close()


class TestProcessRuntime(ProgramContract):
    @pytest.fixture
    async def harness(self, tmp_path: Path) -> AsyncIterator[Harness]:
        def make() -> ProcessRuntime:
            return ProcessRuntime(tmp_path / "state")

        runtime = make()
        await runtime.start()
        image = await runtime.images.pull("podling.local/host")

        async def make_image() -> str:
            await runtime.images.pull("example.org/thing:1")
            return "example.org/thing:1"

        harness = Harness(runtime, tmp_path / "logs", image.id, make_image, make)
        yield harness
        for sandbox in await harness.runtime.list_sandboxes():
            await harness.runtime.remove_sandbox(sandbox.id)
        await harness.runtime.close()
        assert not list((tmp_path / "state" / "containers").iterdir())


@pytest.mark.asyncio(loop_factories=["uvloop"])
class TestProcessRuntimeOnUvloop(TestProcessRuntime):
    """The same tests on the event loop of real clusters, which starts processes in its own way."""

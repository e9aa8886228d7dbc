"""The process that manages containers is killed; the containers keep running."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from podling.runtime.base import ContainerState, NamespaceOptions
from podling.runtime.oci import conmon, linux
from podling.runtime.oci.host import birth
from podling.runtime.oci.records import SandboxRecord
from tests.support.oci_node import Node, missing, node, said_in

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.skipif(bool(missing()), reason=missing())]

MANAGER = """
import asyncio, sys
from pathlib import Path
from tests.support.oci_node import Node

async def main():
    node = Node(Path(sys.argv[1]), cluster=sys.argv[2])
    await node.start()
    sandbox = await node.pod()
    steady = await node.run(sandbox, name="steady")
    script = "until test -e /data/go; do usleep 10000; done; echo gone; exit 7"
    from podling.runtime.base import Mount
    mount = Mount(container_path="/data", host_path=sys.argv[1])
    ending = await node.run(sandbox, "sh", "-c", script, name="ending", mounts=(mount,))
    print(sandbox.id, steady, ending, node.image, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Node]:
    async with node(tmp_path) as running:
        yield running


async def test_a_killed_manager_leaves_containers_running_and_they_are_adopted(tmp_path: Path) -> None:
    survivor = Node(tmp_path)
    command = [sys.executable, "-c", MANAGER, str(tmp_path), survivor.cluster]
    manager = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert manager.stdout is not None
        said = (await manager.stdout.readline()).decode()
        sandbox, steady, ending, survivor.image = said.split()
        manager.kill()
        await manager.wait()

        await survivor.start()
        (found,) = await survivor.runtime.list_sandboxes()
        assert (found.id, found.ready) == (sandbox, True)
        status = await survivor.runtime.container_status(steady)
        assert status.state is ContainerState.RUNNING
        assert (await survivor.exec(steady, "echo", "alive")).out == "alive\n"
        await asyncio.to_thread((tmp_path / "go").touch)
        ended = await survivor.ended(ending)
        assert (ended.exit_code, said_in(ended)) == (7, "gone")
        await survivor.runtime.stop_container(steady, grace_seconds=10)
        assert (await survivor.ended(steady)).exit_code == 0
        await survivor.runtime.remove_sandbox(sandbox)
        assert survivor.traces() == []
    finally:
        if manager.returncode is None:
            manager.kill()
            await manager.wait()
        last = survivor.again()
        await last.start()
        await last.remove()


async def test_half_made_things_of_the_last_run_are_removed(here: Node) -> None:
    whole = await here.pod()
    kept = await here.run(whole)
    half = await here.pod()
    records = here.runtime._on.sandboxes.records
    record = records.get(half.id)
    assert isinstance(record, SandboxRecord)
    records.save(replace(record, complete=False))
    stray = here.state / "containers" / ("f" * 64) / "rootfs"
    await asyncio.to_thread(stray.mkdir, parents=True)
    linux.mount("stray", stray, "tmpfs")
    (here.state / "exits" / ("e" * 64)).write_text("0")
    await here.runtime.close()

    again = here.again()
    await again.start()
    assert [sandbox.id for sandbox in await again.runtime.list_sandboxes()] == [whole.id]
    assert (await again.exec(kept, "true")).code == 0
    await again.runtime.remove_sandbox(whole.id)
    assert again.traces() == []
    await again.runtime.close()


async def test_a_container_that_was_never_started_stays_one(here: Node) -> None:
    """It neither failed nor ended: the kubelet creates it again under any restart policy."""
    sandbox = await here.pod()
    container = await here.create(sandbox)
    await here.runtime.close()
    again = here.again()
    await again.start()
    status = await again.runtime.container_status(container)
    assert (status.state, status.exit_code) == (ContainerState.CREATED, None)
    await again.runtime.remove_sandbox(sandbox.id)
    assert again.traces() == []
    await again.runtime.close()


async def test_a_process_that_was_being_made_is_undone(here: Node) -> None:
    """Its monitor outlives the manager, and would start the process afterwards."""
    sandbox = await here.pod()
    container = await here.create(sandbox)
    containers = here.runtime._on.containers
    made = await containers._make(containers.need(container))
    assert made.pid
    await here.runtime.close()
    again = here.again()
    await again.start()
    assert birth(made.pid) != made.birth
    status = await again.runtime.container_status(container)
    assert status.state is ContainerState.CREATED
    await again.runtime.remove_sandbox(sandbox.id)
    assert again.traces() == []
    await again.runtime.close()


async def test_process_that_ended_before_its_start_was_recorded_has_run(here: Node) -> None:
    sandbox = await here.pod()
    container = await here.create(sandbox, "sh", "-c", "exit 3")
    containers = here.runtime._on.containers
    made = await containers._make(containers.need(container))
    await containers._release(made)
    while not await asyncio.to_thread((here.state / "exits" / container).exists):
        pass
    containers.records.save(made)  # as it was on the disk when the manager was killed
    await here.runtime.close()
    again = here.again()
    await again.start()
    status = await again.ended(container)
    assert (status.state, status.exit_code) == (ContainerState.EXITED, 3)
    await again.runtime.remove_sandbox(sandbox.id)
    assert again.traces() == []
    await again.runtime.close()


async def test_after_a_reboot_nothing_runs_and_pods_are_not_ready(here: Node) -> None:
    """A reboot ends processes, namespaces and mounts, and leaves the files on disk."""
    sandbox = await here.pod()
    container = await here.run(sandbox)
    await here.runtime.close()
    await asyncio.to_thread(conmon.kill_all, container)
    pinned = [here.state / "sandboxes" / sandbox.id / name for name in ("net", "uts", "ipc", "shm")]
    mounted = [*pinned, here.state / "containers" / container / "rootfs"]
    for place in mounted:
        linux.unmount(place)
    (here.state / "boot").write_text("another boot")
    again = here.again()
    await again.start()
    (found,) = await again.runtime.list_sandboxes()
    assert not found.ready
    status = await again.ended(container)
    assert status.exit_code == 255
    await again.runtime.remove_sandbox(sandbox.id)
    assert again.traces() == []
    await again.runtime.close()


async def test_the_holder_of_a_shared_namespace_survives_too(here: Node) -> None:
    sandbox = await here.pod(namespaces=NamespaceOptions(share_processes=True))
    await here.runtime.close()
    again = here.again()
    await again.start()
    assert [found.ready for found in await again.runtime.list_sandboxes()] == [True]
    container = await again.run(sandbox)
    assert "/pause" in (await again.exec(container, "ps")).out
    await again.runtime.close()

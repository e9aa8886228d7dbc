"""Changes of a real container's limits that fail or are cut off: its record says what is in force."""

from __future__ import annotations

import asyncio
import itertools
import json
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from podling.runtime.base import LinuxResources, RuntimeFailure
from podling.runtime.oci import detect
from podling.runtime.oci.cgroups import Cgroups, weight
from tests.support.oci_node import Node, missing, node

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.skipif(bool(missing()), reason=missing())]

CHANGER = """
import asyncio, os, signal, sys
from pathlib import Path
from podling.runtime.base import LinuxResources
from podling.runtime.oci import detect
from podling.runtime.oci.cgroups import Cgroups, weight
from tests.support.oci_node import Node

folder, cluster, container, size, left = sys.argv[1:]
left = int(left)

def die(event, arguments):
    global left
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_ACCMODE == os.O_WRONLY:
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

async def main():
    node = Node(Path(folder), cluster=cluster)
    await node.runtime.start()
    size_in_bytes = int(size) << 20
    change = LinuxResources(
        cpu_shares=int(size) * 2,
        cpu_quota=int(size) * 1000,
        cpu_period=100_000,
        memory_limit=size_in_bytes,
        memory_swap_limit=size_in_bytes,
    )
    sys.addaudithook(die)
    await node.runtime.update_resources(container, change)

asyncio.run(main())
"""
"""Changes a container's limits, and is killed before it opens a file to write for the time after ``left``."""

BEFORE = LinuxResources(
    cpu_shares=512,
    cpu_quota=50_000,
    cpu_period=100_000,
    memory_limit=50 << 20,
    memory_swap_limit=50 << 20,
)


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Node]:
    async with node(tmp_path) as running:
        yield running


def in_force(here: Node, container: str) -> tuple[int, int, int | None]:
    """Return the CPU shares and the quota (of 100 ms), and the memory limit, of the container's cgroup."""
    record = json.loads((here.root / "oci" / "containers" / container / "record.json").read_bytes())
    cgroups, path = Cgroups(detect.cgroup_mode()), record["cgroup"]
    names = ("cpu.weight", "cpu.max") if cgroups.unified else ("cpu.shares", "cpu.cfs_quota_us")
    shares, quota = ((cgroups.place("cpu", path) / name).read_text().split()[0] for name in names)
    return int(shares), int(quota), cgroups.memory_limit(path)


async def recorded(here: Node, container: str) -> tuple[int, int, int | None]:
    """Return the same according to the runtime."""
    resources = (await here.runtime.container_status(container)).resources
    assert resources is not None
    assert resources.cpu_shares is not None
    assert resources.cpu_quota is not None
    unified = Cgroups(detect.cgroup_mode()).unified
    shares = weight(resources.cpu_shares) if unified else resources.cpu_shares
    return shares, resources.cpu_quota, resources.memory_limit


async def test_change_that_fails_in_part_is_taken_back(here: Node) -> None:
    """No quota is that small: the shares were set before it is refused."""
    container = await here.run(await here.pod(), resources=BEFORE)
    before = in_force(here, container)
    with pytest.raises(RuntimeFailure, match="cannot change the resources"):
        await here.runtime.update_resources(container, LinuxResources(cpu_shares=1024, cpu_quota=1))
    assert in_force(here, container) == await recorded(here, container) == before


async def test_record_says_what_is_in_force_after_a_kill_at_any_write(tmp_path: Path) -> None:
    here = Node(tmp_path)
    await here.start()
    container = await here.run(await here.pod(), resources=BEFORE)
    found = []
    try:
        for left in itertools.count():
            await here.runtime.close()
            size = 40 if left % 2 else 60
            arguments = (str(tmp_path), here.cluster, container, str(size), str(left))
            changer = await asyncio.create_subprocess_exec(sys.executable, "-c", CHANGER, *arguments)
            code = await changer.wait()
            here = here.again()
            await here.start()
            found.append(in_force(here, container))
            assert found[-1] == await recorded(here, container)
            if code == 0:
                break
            assert code == -signal.SIGKILL
    finally:
        await here.remove()
    assert len(found) > 5, "every file is a write of its own"
    assert found[-1][1:] == (size * 1000, size << 20)

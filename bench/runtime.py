"""The container runtime without a cluster around it, beside ``crun run`` of the same container.

The floor is the necessary minimum: one OCI runtime, one container, its namespaces and its cgroup.
Ours adds a network with an address, a log, a monitor that outlives us, and records.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import uvloop

from bench.harness import Figure, show
from podling import ids
from podling.network.pod_network import BridgeNetwork
from podling.runtime.base import Container, ContainerSpec, SandboxSpec, Security, Streams
from podling.runtime.images.store import ImageStore
from podling.runtime.oci import commands, detect
from podling.runtime.oci.capabilities import available_here
from podling.runtime.oci.rootfs import mount_rootfs, unmount_all
from podling.runtime.oci.runtime import OciRuntime
from podling.runtime.oci.seccomp import profile_for
from podling.runtime.oci.spec import Inputs, oci_config
from podling.runtime.oci.threads import in_thread
from podling.runtime.oci.users import User
from tests.support.images import busybox_archive

TIMES = 20
AT_ONCE = 50
FOREVER = ("sh", "-c", "trap 'exit 0' TERM; sleep 3600 & wait")


def main() -> None:
    floor = bare_run_floor()
    uvloop.run(_measure(floor))


def bare_run_floor(times: int = TIMES) -> float:
    """Return the median seconds of ``crun run`` (or runc's) of a container like the measured ones."""
    choice = detect.choose(detect.gather())
    if choice.engine is None:
        raise SystemExit("; ".join(choice.why))
    return asyncio.run(_bare_run(choice.engine, times))


async def _bare_run(engine: detect.Engine, times: int) -> float:
    with tempfile.TemporaryDirectory(prefix="podling-bench-") as folder:
        root = Path(folder)
        images = ImageStore(root / "images")
        (image,) = await images.load(busybox_archive(root / "busybox.tar"))
        (root / "bundle").mkdir()
        rootfs = root / "bundle" / "rootfs"
        mount_rootfs(images.content(image.id).layers, root / "layer", rootfs)
        (root / "shm").mkdir()
        spec = ContainerSpec(name="floor", image=image.id, command=("true",), log_path=root / "log")
        inputs = Inputs(
            spec=spec,
            image=images.content(image.id),
            user=User(0, 0, (0,)),
            capabilities=("CAP_KILL",),
            rootfs=rootfs,
            state=Path("/run/podling"),
            cgroup=f"/podling-bench-{ids.suffix()}",
            namespaces={},
            hostname="floor",
            shm=root / "shm",
            seccomp=profile_for("runtime/default", available_here()),
            unified_cgroups=engine.mode is detect.CgroupMode.UNIFIED,
        )
        (root / "bundle" / "config.json").write_bytes(msgspec.json.encode(oci_config(inputs)))
        try:
            return await in_thread(lambda: _time_runs(engine, root, times))
        finally:
            unmount_all(rootfs)


def _time_runs(engine: detect.Engine, root: Path, times: int) -> float:
    if engine.hide_unified:
        commands.hide_unified()
    seconds = []
    for number in range(times + 1):
        command = [engine.path, f"--root={root / 'engine'}", "run", f"floor-{number}"]
        start = time.perf_counter()
        subprocess.run(command, cwd=root / "bundle", check=True, stdin=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:])


@asynccontextmanager
async def _runtime(root: Path) -> AsyncIterator[OciRuntime]:
    cluster = f"bench-{ids.suffix()}"
    network = BridgeNetwork(root / "network", cluster)
    runtime = OciRuntime(
        root / "oci",
        Path("/run") / f"podling-{cluster}",
        ImageStore(root / "images"),
        network,
        cluster_id=cluster,
    )
    await runtime.start()
    try:
        yield runtime
    finally:
        sandboxes = await runtime.list_sandboxes()
        await asyncio.gather(*(runtime.remove_sandbox(sandbox.id) for sandbox in sandboxes))
        await runtime.remove()
        await network.remove()


class _Steps:
    """Seconds of each step, run after run."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {}
        self._last = 0.0

    def begin(self) -> None:
        self._last = time.perf_counter()

    def end(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds.setdefault(name, []).append(now - self._last)
        self._last = now

    def median_ms(self, name: str) -> float:
        return statistics.median(self.seconds[name]) * 1e3


async def _pod(runtime: OciRuntime, root: Path, image: str, steps: _Steps | None = None) -> tuple[str, str]:
    mark: Callable[[str], None] = steps.end if steps else lambda name: None
    uid = ids.uid()
    sandbox = await runtime.run_sandbox(
        SandboxSpec(pod_uid=uid, pod_name="bench", pod_namespace="default", log_directory=root / "logs" / uid)
    )
    mark("run_sandbox")
    spec = ContainerSpec(
        name="main",
        image=image,
        command=FOREVER,
        log_path=root / "logs" / uid / "0.log",
        security=Security(seccomp="runtime/default"),
    )
    container = await runtime.create_container(sandbox.id, spec)
    mark("create_container")
    await runtime.start_container(container)
    mark("start_container")
    return sandbox.id, container


async def _measure(floor: float) -> None:
    with tempfile.TemporaryDirectory(prefix="podling-bench-") as folder:
        root = Path(folder)
        async with _runtime(root) as runtime:
            (image,) = await runtime.images.load(busybox_archive(root / "busybox.tar"))
            await _remove(runtime, *await _pod(runtime, root, image.id))
            steps, whole = _Steps(), []
            for _ in range(TIMES):
                start = time.perf_counter()
                steps.begin()
                made = await _pod(runtime, root, image.id, steps)
                whole.append(time.perf_counter() - start)
                steps.begin()
                await runtime.exec(made[1], ["true"], Streams())
                steps.end("exec")
                await _remove(runtime, *made, steps)
            rate, busy = await _burst(runtime, root, image.id)
    figures = [
        Figure(
            "sandbox, create, start: p50 of 20",
            statistics.median(whole) * 1e3,
            "ms",
            floor * 1e3,
            "crun run",
            4,
        ),
        *(Figure(f"  {name}", steps.median_ms(name), "ms") for name in steps.seconds),
        Figure(f"{AT_ONCE} pods at once", rate, "pods/s"),
        Figure("  until the last one runs", busy, "s"),
    ]
    show(figures)


async def _remove(runtime: OciRuntime, sandbox: str, container: str, steps: _Steps | None = None) -> None:
    if steps:
        steps.begin()
    await runtime.stop_container(container, grace_seconds=10)
    if steps:
        steps.end("stop_container")
    await runtime.remove_sandbox(sandbox)
    if steps:
        steps.end("remove_sandbox")


async def _burst(runtime: OciRuntime, root: Path, image: str) -> tuple[float, float]:
    start = time.perf_counter()
    await asyncio.gather(*(_pod(runtime, root, image) for _ in range(AT_ONCE)))
    seconds = time.perf_counter() - start
    running: tuple[Container, ...] = await runtime.list_containers()
    assert len(running) == AT_ONCE
    return AT_ONCE / seconds, seconds


if __name__ == "__main__":
    main()

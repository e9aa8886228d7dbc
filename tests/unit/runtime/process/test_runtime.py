"""Monitors and what goes wrong around them; the contract has what goes right."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podling.runtime.base import (
    Container,
    ContainerSpec,
    ContainerState,
    IdRange,
    Mount,
    NamespaceOptions,
    RuntimeFailure,
    Sandbox,
    SandboxSpec,
    Security,
    Streams,
)
from podling.runtime.process import ProcessRuntime, claims
from podling.runtime.process.records import Started

pytestmark = pytest.mark.asyncio(loop_factories=["real"])


@dataclass
class Home:
    """One runtime's directories, and the instance that uses them now."""

    path: Path
    runtime: ProcessRuntime

    async def pod(self) -> Sandbox:
        return await self.runtime.run_sandbox(
            SandboxSpec(
                pod_uid="uid", pod_name="web", pod_namespace="default", log_directory=self.path / "logs"
            )
        )

    async def create(self, sandbox: Sandbox, shell: str, **changes: Any) -> str:
        image = await self.runtime.images.pull("podling.local/host")
        fields = {
            "name": "app",
            "image": image.id,
            "command": ("sh", "-c", shell),
            "log_path": self.path / "logs" / "0.log",
        }
        return await self.runtime.create_container(sandbox.id, ContainerSpec(**{**fields, **changes}))

    async def run(self, shell: str, **changes: Any) -> str:
        container_id = await self.create(await self.pod(), shell, **changes)
        await self.runtime.start_container(container_id)
        return container_id

    async def ended(self, container_id: str) -> Container:
        events = self.runtime.events()
        async with asyncio.timeout(20):
            while True:
                container = await self.runtime.container_status(container_id)
                if container.state is ContainerState.EXITED:
                    return container
                await anext(events)

    def directory(self, container_id: str) -> Path:
        return self.path / "state" / "containers" / container_id

    def monitor(self, container_id: str) -> int:
        text = (self.directory(container_id) / "started.json").read_bytes()
        return msgspec.json.decode(text, type=Started).monitor

    async def restart(self) -> None:
        await self.runtime.close()
        self.runtime = ProcessRuntime(self.path / "state")
        await self.runtime.start()


async def readable(descriptor: int) -> None:
    """Wait until there is something to read, or the end."""
    ready, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_reader(descriptor, ready.set)
    try:
        async with asyncio.timeout(20):
            await ready.wait()
    finally:
        loop.remove_reader(descriptor)


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    home = Home(tmp_path, ProcessRuntime(tmp_path / "state"))
    await home.runtime.start()
    yield home
    for sandbox in await home.runtime.list_sandboxes():
        await home.runtime.remove_sandbox(sandbox.id)
    await home.runtime.close()


async def test_a_container_does_not_go_on_without_its_monitor(home: Home) -> None:
    container_id = await home.run("exec sleep 3600")
    pid = (await home.runtime.container_status(container_id)).pid
    assert pid is not None
    process = os.pidfd_open(pid)
    os.kill(home.monitor(container_id), signal.SIGKILL)
    ended = await home.ended(container_id)
    assert (ended.exit_code, ended.reason) == (137, "Error")
    assert ended.message == "the process that watched over the container was killed"
    await readable(process)  # as a process' descriptor is when the process has ended
    os.close(process)


async def test_monitor_killed_before_restart_is_noticed(home: Home) -> None:
    container_id = await home.run("exec sleep 3600")
    monitor = home.monitor(container_id)
    await home.runtime.close()
    os.kill(monitor, signal.SIGKILL)
    home.runtime = ProcessRuntime(home.path / "state")
    await home.runtime.start()
    assert (await home.ended(container_id)).exit_code == 137
    await home.restart()
    assert (await home.runtime.container_status(container_id)).exit_code == 137


async def test_a_start_that_was_interrupted_is_found_and_not_repeated(home: Home) -> None:
    """The monitor runs, but its note about it is missing, as just after our own sudden end."""
    container_id = await home.run("exec sleep 3600")
    started = home.directory(container_id) / "started.json"
    pid = (await home.runtime.container_status(container_id)).pid
    await home.runtime.close()
    content = started.read_bytes()
    started.unlink()
    home.runtime = ProcessRuntime(home.path / "state")
    starting = asyncio.create_task(home.runtime.start())
    started.write_bytes(content)
    await starting
    found = await home.runtime.container_status(container_id)
    assert (found.state, found.pid) == (ContainerState.RUNNING, pid)


async def test_nothing_outlives_a_restart_of_the_machine(home: Home) -> None:
    sandbox = await home.pod()
    path = home.path / "state" / "sandboxes" / f"{sandbox.id}.json"
    await home.runtime.close()
    record = msgspec.json.decode(path.read_bytes())
    path.write_bytes(msgspec.json.encode(record | {"boot": "an earlier one"}))
    home.runtime = ProcessRuntime(home.path / "state")
    await home.runtime.start()
    assert [listed.ready for listed in await home.runtime.list_sandboxes()] == [False]


async def test_half_made_container_is_removed_at_start(home: Home) -> None:
    leftover = home.path / "state" / "containers" / "half"
    leftover.mkdir()
    (leftover / "launch.json").write_text("{}")
    await home.restart()
    assert not leftover.exists()


async def test_monitor_that_cannot_be_reached_is_ended(home: Home) -> None:
    """A container that is reported as over does not run on."""
    container_id = await home.run("exec sleep 3600")
    pid = (await home.runtime.container_status(container_id)).pid
    assert pid is not None
    process = os.pidfd_open(pid)
    await home.runtime.close()
    (home.directory(container_id) / "control").unlink()
    home.runtime = ProcessRuntime(home.path / "state")
    await home.runtime.start()
    assert (await home.runtime.container_status(container_id)).state is ContainerState.EXITED
    await readable(process)
    os.close(process)


async def test_container_without_its_sandbox_is_ended_at_start(home: Home) -> None:
    container_id = await home.run("exec sleep 3600")
    found = await home.runtime.container_status(container_id)
    assert found.pid is not None
    process = os.pidfd_open(found.pid)
    (home.path / "state" / "sandboxes" / f"{found.sandbox_id}.json").write_text("damaged")
    await home.restart()
    await readable(process)
    os.close(process)
    assert not home.directory(container_id).exists()


async def test_permit_of_a_start_that_never_came_is_revoked(home: Home) -> None:
    container_id = await home.create(await home.pod(), "exec sleep 3600")
    late = claims.permit_start(home.directory(container_id))
    await home.restart()
    assert not (home.directory(container_id) / late).exists()
    await home.runtime.start_container(container_id)
    assert (await home.runtime.container_status(container_id)).state is ContainerState.RUNNING


async def test_exec_ends_with_its_container(home: Home) -> None:
    container_id = await home.run("exec sleep 3600")
    said = asyncio.Event()

    async def stdout(chunk: bytes) -> None:
        said.set()

    command = ["sh", "-c", "echo up; exec sleep 3600"]
    running = asyncio.create_task(home.runtime.exec(container_id, command, Streams(stdout=stdout)))
    await said.wait()
    await home.runtime.stop_container(container_id, grace_seconds=0)
    assert await running == 137


async def test_a_cancelled_exec_is_killed_with_what_it_started(home: Home, tmp_path: Path) -> None:
    """The command and its child hold a pipe open; its end is theirs."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    container_id = await home.run("exec sleep 3600")
    said = asyncio.Event()

    async def stdout(chunk: bytes) -> None:
        said.set()

    command = ["sh", "-c", f"exec 3> {pipe}; sleep 3600 & echo up; wait"]
    running = asyncio.create_task(home.runtime.exec(container_id, command, Streams(stdout=stdout)))
    await said.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await readable(reader)
    assert os.read(reader, 1) == b""
    os.close(reader)


async def test_a_log_that_cannot_be_written_is_a_failure_to_start(home: Home) -> None:
    (home.path / "logs").mkdir()
    (home.path / "logs" / "0.log").mkdir()
    container_id = await home.create(await home.pod(), "true")
    with pytest.raises(RuntimeFailure, match="is a directory"):
        await home.runtime.start_container(container_id)
    assert (await home.runtime.container_status(container_id)).reason == "StartError"


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
async def test_another_user_reaches_its_volumes_and_no_secrets(home: Home, tmp_path: Path) -> None:
    for place in (home.path, *home.path.parents):
        if place.stat().st_uid == 0 and place != Path("/"):
            place.chmod(place.stat().st_mode | 0o011)
    (tmp_path / "volume").mkdir(mode=0o755)
    (tmp_path / "volume" / "file").write_text("seen\n")
    mount = Mount(container_path="/data", host_path=str(tmp_path / "volume"))
    shell = "id -u; echo $HOME; cat data/file; cat ../launch.json 2>&1 | grep -c denied"
    container_id = await home.run(shell, mounts=(mount,), security=Security(user="65534"))
    await home.ended(container_id)
    log = (home.path / "logs" / "0.log").read_text()
    assert [line.split(" ", 3)[3] for line in log.splitlines()] == ["65534", "/nonexistent", "seen", "1"]


async def test_volumes_cannot_be_nested_and_nothing_is_left_of_the_attempt(home: Home) -> None:
    mounts = tuple(Mount(container_path=path, host_path="/tmp") for path in ("/data", "/data/in"))
    with pytest.raises(RuntimeFailure, match="lies inside"):
        await home.create(await home.pod(), "true", mounts=mounts)
    assert list((home.path / "state" / "containers").iterdir()) == []


async def test_a_long_path_is_no_obstacle(tmp_path: Path) -> None:
    """The address of a socket has some hundred bytes; a directory of ours may be longer."""
    root = tmp_path / ("long" * 30)
    root.mkdir()
    home = Home(root, ProcessRuntime(root / "state"))
    await home.runtime.start()
    container_id = await home.run("exit 3")
    assert (await home.ended(container_id)).exit_code == 3
    await home.restart()
    assert (await home.runtime.container_status(container_id)).exit_code == 3
    await home.runtime.close()


async def test_input_larger_than_any_buffer_arrives_whole(home: Home) -> None:
    container_id = await home.run("cat > /dev/null; exec sleep 3600")
    chunk, chunks, received = b"0123456789abcdef" * 4096, 40, 0

    async def stdin() -> AsyncIterator[bytes]:
        for _ in range(chunks):
            yield chunk

    async def stdout(part: bytes) -> None:
        nonlocal received
        received += len(part)

    code = await home.runtime.exec(container_id, ["cat"], Streams(stdin=stdin(), stdout=stdout))
    assert (code, received) == (0, len(chunk) * chunks)


async def test_attached_input_larger_than_any_buffer_arrives_whole(home: Home) -> None:
    container_id = await home.run("wc -c", stdin=True, stdin_once=True)
    said = b""

    async def stdin() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b"0123456789abcdef" * 4096

    async def stdout(part: bytes) -> None:
        nonlocal said
        said += part

    async with asyncio.timeout(20):
        await home.runtime.attach(container_id, Streams(stdin=stdin(), stdout=stdout))
    assert said.strip() == b"2621440"


async def test_pod_with_own_users_is_refused(home: Home) -> None:
    """Nothing here could make its processes other users."""
    (handler,) = (await home.runtime.status()).handlers
    assert not handler.user_namespaces
    spec = SandboxSpec(
        pod_uid="uid",
        pod_name="web",
        pod_namespace="default",
        log_directory=home.path / "logs",
        namespaces=NamespaceOptions(users=IdRange(first=65536)),
    )
    with pytest.raises(RuntimeFailure, match="pods have no users of their own"):
        await home.runtime.run_sandbox(spec)
    assert await home.runtime.list_sandboxes() == ()

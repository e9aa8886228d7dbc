"""What every runtime promises the kubelet, held against each of them.

``RuntimeContract`` is what all keep, the simulated one too. ``ProgramContract`` adds what only
means something where programs really run: environments, mounts, adoption after a restart.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path

import pytest

from podling import ids
from podling.runtime.base import (
    ContainerEventType,
    ContainerState,
    ExecTimeout,
    ImageFailure,
    LinuxResources,
    Mount,
    NotFound,
    Runtime,
    RuntimeFailure,
)
from podling.runtime.process import ProcessRuntime
from podling.runtime.sim import ContainerScript, ExecScript, LogScript, PortScript, Run, SimRuntime
from tests.contract.runtime_harness import (
    SLEEPER,
    STUBBORN,
    Harness,
    NoNetwork,
    Program,
    Record,
    Recorder,
    exiting,
    serving,
)
from tests.support.images import busybox_archive

CAT = Program("cat", ContainerScript(echo=True))


class RuntimeContract:
    """Kept by every runtime."""

    # Lives

    async def test_a_container_goes_from_created_to_running_to_exited(self, harness: Harness) -> None:
        sandbox = await harness.pod()
        container_id = await harness.create(sandbox, SLEEPER, labels={"app": "web"})
        created = await harness.runtime.container_status(container_id)
        assert (created.state, created.started_at, created.exit_code) == (ContainerState.CREATED, None, None)
        assert (created.name, created.labels, created.sandbox_id) == ("app", {"app": "web"}, sandbox.id)

        await harness.runtime.start_container(container_id)
        running = await harness.runtime.container_status(container_id)
        assert running.state is ContainerState.RUNNING
        assert running.id == container_id
        assert running.started_at is not None
        assert running.started_at >= created.created_at
        assert running.pid is not None

        await harness.runtime.stop_container(container_id, grace_seconds=10)
        exited = await harness.runtime.container_status(container_id)
        assert exited.state is ContainerState.EXITED
        assert exited.finished_at is not None
        assert exited.finished_at >= running.started_at
        assert exited.pid is None

    @pytest.mark.parametrize(("code", "reason"), [(0, "Completed"), (1, "Error"), (42, "Error")])
    async def test_exit_codes_are_kept(self, harness: Harness, code: int, reason: str) -> None:
        exited = await harness.finish(exiting(code))
        assert (exited.exit_code, exited.reason) == (code, reason)

    async def test_attempts_are_containers_of_their_own(self, harness: Harness) -> None:
        sandbox = await harness.pod()
        first = await harness.run(sandbox, exiting(1))
        await harness.ended(first)
        second = await harness.run(sandbox, SLEEPER, attempt=1)
        both = await harness.runtime.list_containers(sandbox_id=sandbox.id)
        assert {(container.id, container.attempt, container.state) for container in both} == {
            (first, 0, ContainerState.EXITED),
            (second, 1, ContainerState.RUNNING),
        }

    async def test_nothing_starts_twice(self, harness: Harness) -> None:
        container_id = await harness.run(await harness.pod(), SLEEPER)
        with pytest.raises(RuntimeFailure):
            await harness.runtime.start_container(container_id)

    async def test_a_command_that_cannot_run_leaves_an_exited_container(self, harness: Harness) -> None:
        missing = Program("", ContainerScript(start_error="not found", start_error_code=127))
        container_id = await harness.create(await harness.pod(), missing, command=("no-such-command",))
        with pytest.raises(RuntimeFailure, match="not found"):
            await harness.runtime.start_container(container_id)
        exited = await harness.runtime.container_status(container_id)
        assert (exited.state, exited.reason) == (ContainerState.EXITED, "StartError")
        assert exited.exit_code in (127, 128)

    # Ends

    async def test_a_signal_that_is_honoured_ends_it_at_once(self, harness: Harness) -> None:
        container_id = await harness.run(await harness.pod(), SLEEPER)
        await harness.runtime.stop_container(container_id, grace_seconds=60)
        assert (await harness.runtime.container_status(container_id)).exit_code == 143

    async def test_a_signal_that_is_ignored_ends_in_a_kill_after_the_grace(self, harness: Harness) -> None:
        container_id = await harness.run(await harness.pod(), STUBBORN)
        await harness.runtime.stop_container(container_id, grace_seconds=0.2)
        exited = await harness.runtime.container_status(container_id)
        assert (exited.exit_code, exited.reason) == (137, "Error")

    async def test_without_grace_it_is_killed_at_once(self, harness: Harness) -> None:
        container_id = await harness.run(await harness.pod(), SLEEPER)
        await harness.runtime.stop_container(container_id, grace_seconds=0)
        assert (await harness.runtime.container_status(container_id)).exit_code == 137

    async def test_a_second_stop_with_less_grace_shortens_the_first(self, harness: Harness) -> None:
        container_id = await harness.run(await harness.pod(), STUBBORN)
        first = asyncio.create_task(harness.runtime.stop_container(container_id, grace_seconds=3600))
        await harness.runtime.stop_container(container_id, grace_seconds=0.2)
        await first
        assert (await harness.runtime.container_status(container_id)).exit_code == 137

    async def test_the_stop_signal_can_be_another(self, harness: Harness) -> None:
        program = serving("trap 'exit 7' USR1", ContainerScript(stop_exit_code=7))
        container_id = await harness.run(await harness.pod(), program, stop_signal="SIGUSR1")
        await harness.runtime.stop_container(container_id, grace_seconds=60)
        assert (await harness.runtime.container_status(container_id)).exit_code == 7

    async def test_stopping_and_removing_can_be_repeated(self, harness: Harness) -> None:
        sandbox = await harness.pod()
        container_id = await harness.run(sandbox, exiting(0))
        await harness.ended(container_id)
        for _ in range(2):
            await harness.runtime.stop_container(container_id, grace_seconds=1)
        for _ in range(2):
            await harness.runtime.remove_container(container_id)
        await harness.runtime.stop_container(container_id, grace_seconds=1)
        for _ in range(2):
            await harness.runtime.stop_sandbox(sandbox.id)
        for _ in range(2):
            await harness.runtime.remove_sandbox(sandbox.id)
        await harness.runtime.stop_sandbox(sandbox.id)

    async def test_what_runs_is_not_removed(self, harness: Harness) -> None:
        container_id = await harness.run(await harness.pod(), SLEEPER)
        with pytest.raises(RuntimeFailure):
            await harness.runtime.remove_container(container_id)

    # Sandboxes

    async def test_a_sandbox_keeps_what_it_was_given(self, harness: Harness) -> None:
        made = await harness.pod(attempt=3, labels={"a": "b"}, annotations={"c": "d"})
        (listed,) = await harness.runtime.list_sandboxes()
        assert listed == made
        assert (listed.ready, listed.attempt, listed.labels, listed.annotations) == (
            True,
            3,
            {"a": "b"},
            {"c": "d"},
        )
        assert (listed.host_network, listed.ips) == (True, ())

    async def test_a_stopped_sandbox_runs_nothing_and_takes_nothing_in(self, harness: Harness) -> None:
        sandbox = await harness.pod()
        container_id = await harness.run(sandbox, STUBBORN)
        await harness.runtime.stop_sandbox(sandbox.id)
        assert (await harness.runtime.container_status(container_id)).exit_code == 137
        assert [listed.ready for listed in await harness.runtime.list_sandboxes()] == [False]
        with pytest.raises(RuntimeFailure):
            await harness.create(sandbox, SLEEPER, name="late")

    async def test_removing_a_sandbox_removes_all_of_it_and_nothing_else(self, harness: Harness) -> None:
        doomed, other = await harness.pod(), await harness.pod()
        for name in ("one", "two"):
            await harness.run(doomed, STUBBORN, name=name)
        kept = await harness.run(other, SLEEPER)
        await harness.runtime.remove_sandbox(doomed.id)
        assert [sandbox.id for sandbox in await harness.runtime.list_sandboxes()] == [other.id]
        assert [container.id for container in await harness.runtime.list_containers()] == [kept]
        assert await harness.runtime.list_containers(sandbox_id=doomed.id) == ()

    async def test_what_is_not_there_is_not_found(self, harness: Harness) -> None:
        runtime, nothing = harness.runtime, "0" * 64
        sandbox = await harness.pod()
        await harness.runtime.remove_sandbox(sandbox.id)
        for call in (
            runtime.container_status(nothing),
            runtime.start_container(nothing),
            runtime.exec(nothing, ["true"], Recorder().streams()),
            runtime.attach(nothing, Recorder().streams()),
            runtime.reopen_log(nothing),
            runtime.update_resources(nothing, LinuxResources(cpu_shares=2)),
            harness.create(sandbox, SLEEPER),
        ):
            with pytest.raises(NotFound):
                await call

    # Events

    async def test_every_transition_is_an_event(self, harness: Harness) -> None:
        events = harness.runtime.events()
        sandbox = await harness.pod()
        container_id = await harness.run(sandbox, SLEEPER)
        await harness.runtime.stop_container(container_id, grace_seconds=10)
        await harness.runtime.remove_container(container_id)
        await harness.runtime.stop_sandbox(sandbox.id)
        async with asyncio.timeout(10):
            seen = [await anext(events) for _ in range(5)]
        assert [(event.type.value, event.container_id) for event in seen] == [
            ("CREATED", container_id),
            ("STARTED", container_id),
            ("EXITED", container_id),
            ("REMOVED", container_id),
            ("SANDBOX_STOPPED", ""),
        ]
        assert {(event.pod_uid, event.sandbox_id) for event in seen} == {(sandbox.pod_uid, sandbox.id)}

    async def test_an_exit_is_an_event_without_anybody_asking(self, harness: Harness) -> None:
        events = harness.runtime.events()
        container_id = await harness.run(await harness.pod(), exiting(5))
        async with asyncio.timeout(10):
            while (event := await anext(events)).type is not ContainerEventType.EXITED:
                pass
        assert event.container_id == container_id
        assert (await harness.runtime.container_status(container_id)).exit_code == 5

    # Logs

    async def test_output_is_logged_by_stream(self, harness: Harness) -> None:
        program = Program(
            "echo one; echo two >&2",
            ContainerScript(
                runs=(Run(seconds=1),), logs=(LogScript(text="one"), LogScript(text="two", stream="stderr"))
            ),
        )
        exited = await harness.finish(program)
        assert sorted(harness.records(exited), key=lambda record: record.text) == [
            Record("stdout", "F", "one"),
            Record("stderr", "F", "two"),
        ]

    async def test_the_log_outlives_the_container(self, harness: Harness) -> None:
        program = Program(
            "echo still here", ContainerScript(runs=(Run(seconds=1),), logs=(LogScript(text="still here"),))
        )
        exited = await harness.finish(program)
        await harness.runtime.remove_container(exited.id)
        assert harness.text(exited) == "still here\n"

    # Streams

    async def test_exec_gives_output_and_exit_code(self, harness: Harness) -> None:
        answer = ExecScript(command="sh -c", stdout="out\n", stderr="err\n", exit_code=3)
        program = serving("trap 'exit 143' TERM", ContainerScript(exec=(answer,)))
        container_id = await harness.run(await harness.pod(), program)
        recorder = Recorder()
        command = ["sh", "-c", "echo out; echo err >&2; exit 3"]
        code = await harness.runtime.exec(container_id, command, recorder.streams())
        assert (code, recorder.stdout, recorder.stderr) == (3, b"out\n", b"err\n")

    async def test_exec_reads_input_to_its_end(self, harness: Harness) -> None:
        program = serving(":", ContainerScript(exec=(ExecScript(command="cat", echo=True),)))
        container_id = await harness.run(await harness.pod(), program)
        recorder = Recorder(b"some ", b"input")
        code = await harness.runtime.exec(container_id, ["cat"], recorder.streams(stdin=True))
        assert (code, recorder.stdout) == (0, b"some input")

    async def test_exec_that_takes_too_long_is_ended(self, harness: Harness) -> None:
        program = serving(":", ContainerScript(exec=(ExecScript(command="sleep", seconds=3600),)))
        container_id = await harness.run(await harness.pod(), program)
        with pytest.raises(ExecTimeout):
            await harness.runtime.exec(container_id, ["sleep", "3600"], Recorder().streams(), timeout=0.3)

    async def test_a_cancelled_exec_leaves_the_container_as_it_was(self, harness: Harness) -> None:
        hanging = ExecScript(command="sh -c", stdout="started\n", seconds=3600)
        program = serving(":", ContainerScript(exec=(hanging, ExecScript(command="true"))))
        container_id = await harness.run(await harness.pod(), program)
        recorder = Recorder()
        command = ["sh", "-c", "echo started; sleep 3600"]
        running = asyncio.create_task(harness.runtime.exec(container_id, command, recorder.streams()))
        await recorder.said(b"started")
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert await harness.runtime.exec(container_id, ["true"], Recorder().streams()) == 0

    async def test_exec_needs_a_running_container(self, harness: Harness) -> None:
        exited = await harness.finish(exiting(0))
        with pytest.raises(RuntimeFailure):
            await harness.runtime.exec(exited.id, ["true"], Recorder().streams())

    async def test_attach_carries_both_ways_until_the_end(self, harness: Harness) -> None:
        container_id = await harness.run(await harness.pod(), CAT, stdin=True, stdin_once=True)
        recorder = Recorder(b"hello\n")
        async with asyncio.timeout(10):
            await harness.runtime.attach(container_id, recorder.streams(stdin=True))
        assert recorder.stdout == b"hello\n"
        exited = await harness.ended(container_id)
        assert exited.exit_code == 0
        assert harness.text(exited) == "hello\n"

    async def test_letting_go_of_an_attached_container_leaves_it_running(self, harness: Harness) -> None:
        container_id = await harness.run(await harness.pod(), CAT, stdin=True)
        recorder = Recorder(b"hello\n", stays_open=True)
        attached = asyncio.create_task(harness.runtime.attach(container_id, recorder.streams(stdin=True)))
        await recorder.said(b"hello\n")
        attached.cancel()
        await asyncio.gather(attached, return_exceptions=True)
        assert (await harness.runtime.container_status(container_id)).state is ContainerState.RUNNING

    async def test_a_port_is_forwarded(self, harness: Harness) -> None:
        server = (
            "import socket; s = socket.create_server(('127.0.0.1', 38917)); print('up', flush=True);"
            "c = s.accept()[0]; c.sendall(b'got ' + c.recv(99)); c.close()"
        )
        scripted = ContainerScript(
            ports=(PortScript(port=38917, reply="got ping"),), logs=(LogScript(text="up"),)
        )
        sandbox = await harness.pod()
        container_id = await harness.run(sandbox, Program(f'exec python3 -c "{server}"', scripted))
        await harness.logged(container_id, "up")
        recorder = Recorder(b"ping")
        streams = recorder.streams(stdin=True)
        assert streams.stdin is not None
        assert streams.stdout is not None
        async with asyncio.timeout(10):
            await harness.runtime.port_forward(sandbox.id, 38917, streams.stdin, streams.stdout)
        assert recorder.stdout == b"got ping"

    async def test_a_port_nobody_listens_on_is_refused(self, harness: Harness) -> None:
        sandbox = await harness.pod()
        streams = Recorder().streams(stdin=True)
        assert streams.stdin is not None
        assert streams.stdout is not None
        with pytest.raises(RuntimeFailure, match="38918"):
            await harness.runtime.port_forward(sandbox.id, 38918, streams.stdin, streams.stdout)

    # Figures and images

    async def test_only_what_runs_has_figures(self, harness: Harness) -> None:
        sandbox = await harness.pod()
        running = await harness.run(sandbox, SLEEPER)
        await harness.ended(await harness.run(sandbox, exiting(0), name="done"))
        assert [figures.container_id for figures in await harness.runtime.stats()] == [running]

    async def test_an_image_is_there_until_it_is_removed(self, harness: Harness) -> None:
        assert harness.make_image is not None
        name = await harness.make_image()
        images = harness.runtime.images
        image = await images.image_status(name)
        assert image is not None
        assert await images.image_status(image.id) == image
        assert image in await images.list_images()
        await images.remove_image(name)
        assert await images.image_status(name) is None
        with pytest.raises(NotFound):
            await images.remove_image(name)

    async def test_a_container_needs_its_image(self, harness: Harness) -> None:
        with pytest.raises(NotFound):
            await harness.create(await harness.pod(), SLEEPER, image="sha256:" + "0" * 64)

    async def test_what_is_no_image_name_is_refused(self, harness: Harness) -> None:
        with pytest.raises(ImageFailure) as caught:
            await harness.runtime.images.image_status("Not A Name")
        assert caught.value.reason == "InvalidImageName"

    async def test_the_runtime_says_who_it_is(self, harness: Harness) -> None:
        status = await harness.runtime.status()
        assert status.runtime_ready
        assert status.name
        assert status.version


class ProgramContract(RuntimeContract):
    """Kept by runtimes that run programs."""

    async def test_command_arguments_and_environment_reach_the_program(self, harness: Harness) -> None:
        exited = await harness.finish(
            Program(""),
            command=("sh", "-c", 'echo "$GREETING, $1 of $0"'),
            args=("house", "master"),
            env=(("GREETING", "hello"),),
        )
        assert harness.text(exited) == "hello, master of house\n"

    async def test_an_image_says_how_it_is_run(self, harness: Harness, tmp_path: Path) -> None:
        """What the specification leaves out comes from the image; what it says replaces the image's."""
        busybox_archive(
            tmp_path / "image.tar",
            "example.org/talker:1",
            entrypoint=("sh", "-c", 'echo "$GREETING $1 in $(pwd)"', "talker"),
            cmd=("world",),
            env={"GREETING": "hello"},
            WorkingDir="/etc",
        )
        (image,) = await harness.runtime.images.load(tmp_path / "image.tar")
        plain = await harness.finish(Program(""), image=image.id, command=())
        changed = await harness.finish(
            Program(""), image=image.id, command=(), args=("moon",), env=(("GREETING", "good night"),)
        )
        assert harness.text(plain) == "hello world in /etc\n"
        assert harness.text(changed) == "good night moon in /etc\n"

    async def test_podlings_own_environment_stays_hidden(
        self, harness: Harness, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PODLING_SECRET", "hidden")
        exited = await harness.finish(Program('echo "<$PODLING_SECRET>"'))
        assert harness.text(exited) == "<>\n"

    async def test_the_working_directory_is_the_one_asked_for(self, harness: Harness) -> None:
        exited = await harness.finish(Program("pwd"), working_dir="/usr/bin")
        assert harness.text(exited) == "/usr/bin\n"

    async def test_a_line_without_an_end_is_a_partial_record(self, harness: Harness) -> None:
        exited = await harness.finish(Program("printf half; sleep 0.3; echo ' whole'"))
        assert [(record.tag, record.text) for record in harness.records(exited)] == [
            ("P", "half"),
            ("F", " whole"),
        ]

    async def test_the_log_goes_on_in_a_new_file(self, harness: Harness) -> None:
        program = Program("trap 'echo second; exit 0' TERM; echo first; while :; do sleep 0.02; done")
        container_id = await harness.run(await harness.pod(), program)
        await harness.logged(container_id, "first")
        path = Path((await harness.runtime.container_status(container_id)).log_path)
        os.rename(path, path.with_suffix(".old"))
        await harness.runtime.reopen_log(container_id)
        await harness.runtime.stop_container(container_id, grace_seconds=10)
        exited = await harness.ended(container_id)
        assert b"first" in path.with_suffix(".old").read_bytes()
        assert harness.text(exited) == "second\n"

    async def test_a_terminal_is_one_when_asked_for(self, harness: Harness) -> None:
        container_id = await harness.run(await harness.pod(), SLEEPER)
        recorder = Recorder()
        command = ["sh", "-c", "test -t 0 && test -t 1 && echo terminal; echo err >&2"]
        code = await harness.runtime.exec(container_id, command, recorder.streams(), tty=True)
        assert (code, recorder.stdout, recorder.stderr) == (0, b"terminal\r\nerr\r\n", b"")

    async def test_a_container_can_have_a_terminal(self, harness: Harness) -> None:
        exited = await harness.finish(Program("test -t 1 && echo terminal"), tty=True)
        assert harness.text(exited).strip() == "terminal"

    async def test_a_command_for_exec_that_does_not_exist_fails(self, harness: Harness) -> None:
        container_id = await harness.run(await harness.pod(), SLEEPER)
        with pytest.raises(RuntimeFailure, match="no-such-command"):
            await harness.runtime.exec(container_id, ["no-such-command"], Recorder().streams())

    async def test_much_output_is_kept_whole(self, harness: Harness) -> None:
        exited = await harness.finish(Program("seq 1 50000"))
        assert harness.text(exited) == "".join(f"{number}\n" for number in range(1, 50001))

    # Life beyond the runtime's own

    async def test_containers_outlive_the_runtime_and_are_found_again(self, harness: Harness) -> None:
        assert harness.again is not None
        sandbox = await harness.pod(annotations={"kept": "yes"})
        running = await harness.run(sandbox, SLEEPER)
        await harness.ended(await harness.run(sandbox, exiting(4), name="done"))
        before = {item.id: asdict(item) for item in await harness.runtime.list_containers()}
        await harness.runtime.close()

        harness.runtime = harness.again()
        await harness.runtime.start()
        assert await harness.runtime.list_sandboxes() == (sandbox,)
        after = {item.id: asdict(item) for item in await harness.runtime.list_containers()}
        assert after.keys() == before.keys()
        for container_id, was in before.items():
            assert {key: item for key, item in after[container_id].items() if item != was[key]} == {}
        assert await harness.runtime.exec(running, ["true"], Recorder().streams()) == 0
        await harness.runtime.stop_container(running, grace_seconds=10)
        assert (await harness.ended(running)).exit_code == 143

    async def test_an_exit_while_nobody_looked_is_found_afterwards(
        self, harness: Harness, tmp_path: Path
    ) -> None:
        assert harness.again is not None
        gate = tmp_path / "gate"
        os.mkfifo(gate)
        mount = Mount(container_path="/gate", host_path=str(gate))
        program = Program('echo up; read line < "${PODLING_ROOTFS:-}/gate"; exit 9')
        container_id = await harness.run(await harness.pod(), program, mounts=(mount,))
        await harness.logged(container_id, "up")
        await harness.runtime.close()
        await asyncio.to_thread(gate.write_text, "go\n")

        harness.runtime = harness.again()
        await harness.runtime.start()
        exited = await harness.ended(container_id)
        assert (exited.exit_code, exited.reason) == (9, "Error")

    async def test_mounts_are_seen_and_written(self, harness: Harness, tmp_path: Path) -> None:
        (tmp_path / "volume").mkdir()
        (tmp_path / "volume" / "in").write_text("from outside\n")
        mount = Mount(container_path="/data", host_path=str(tmp_path / "volume"))
        program = Program('cd "${PODLING_ROOTFS:-}/data" && cat in && echo "from inside" > out')
        exited = await harness.finish(program, mounts=(mount,))
        assert harness.text(exited) == "from outside\n"
        assert (tmp_path / "volume" / "out").read_text() == "from inside\n"

    async def test_what_a_container_leaves_behind_ends_with_it(
        self, harness: Harness, tmp_path: Path
    ) -> None:
        """A process in a session of its own holds a pipe open; nobody does once the container is over."""
        shared = tmp_path / "shared"
        shared.mkdir()
        os.mkfifo(shared / "pipe")
        reader = os.open(shared / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        program = Program(
            'cd "${PODLING_ROOTFS:-}/shared"; (setsid sh -c "exec 3> pipe; touch up; sleep 3600" &);'
            "while [ ! -e up ]; do sleep 0.02; done"
        )
        mount = Mount(container_path="/shared", host_path=str(shared))
        assert (await harness.finish(program, mounts=(mount,))).exit_code == 0
        assert os.read(reader, 1) == b""
        os.close(reader)


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
    """Again in real time, on the loop that clusters run on."""


def _cannot_run_containers() -> str:
    """Why real containers cannot be run here; empty when they can."""
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
    """Again on the loop that clusters run on, which starts processes in its own way."""

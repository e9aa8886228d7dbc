"""The contract of runtimes that run programs: environments, mounts, adoption after a restart."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from msgspec import structs

from podling import clock
from podling.runtime.base import Mount, RuntimeFailure
from tests.contract.runtime_harness import SLEEPER, Harness, Program, Recorder, exiting
from tests.support.images import busybox_archive
from tests.support.pod_processes import still_running


class ProgramsContract:
    """Tests that runtimes pass which run programs."""

    async def test_command_arguments_and_environment_reach_the_program(self, harness: Harness) -> None:
        exited = await harness.finish(
            Program(""),
            command=("sh", "-c", 'echo "$GREETING, $1 of $0"'),
            args=("house", "master"),
            env=(("GREETING", "hello"),),
        )
        assert harness.text(exited) == "hello, master of house\n"

    async def test_image_configuration_supplies_defaults(self, harness: Harness, tmp_path: Path) -> None:
        """Fields that the specification omits come from the image; its own fields replace the image's."""
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

    async def test_program_runs_in_its_working_directory(self, harness: Harness) -> None:
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

    async def test_exec_with_tty_has_a_terminal(self, harness: Harness) -> None:
        container_id = await harness.run(await harness.pod(), SLEEPER)
        recorder = Recorder()
        command = ["sh", "-c", "test -t 0 && test -t 1 && echo terminal; echo err >&2"]
        code = await harness.runtime.exec(container_id, command, recorder.streams(), tty=True)
        assert (code, recorder.stdout, recorder.stderr) == (0, b"terminal\r\nerr\r\n", b"")

    async def test_a_container_can_have_a_terminal(self, harness: Harness) -> None:
        exited = await harness.finish(Program("test -t 1 && echo terminal"), tty=True)
        assert harness.text(exited).strip() == "terminal"

    async def test_an_exec_cancelled_at_any_moment_leaves_no_process(self, harness: Harness) -> None:
        """The second cancellation is the HTTP server's, which notices that the client left."""
        container_id = await harness.run(await harness.pod(), SLEEPER)
        marker = f"{31415926 + os.getpid()}"
        for twice in (False, True):
            for milliseconds in range(0, 60, 4):
                command = ["sleep", marker]
                running = asyncio.create_task(
                    harness.runtime.exec(container_id, command, Recorder().streams())
                )
                await clock.sleep(milliseconds / 1000)
                running.cancel()
                if twice:
                    await clock.sleep(0.002)
                    running.cancel()
                await asyncio.gather(running, return_exceptions=True)
        assert still_running(marker, 2) == []

    async def test_a_command_for_exec_that_does_not_exist_fails(self, harness: Harness) -> None:
        container_id = await harness.run(await harness.pod(), SLEEPER)
        with pytest.raises(RuntimeFailure, match="no-such-command"):
            await harness.runtime.exec(container_id, ["no-such-command"], Recorder().streams())

    async def test_much_output_is_kept_whole(self, harness: Harness) -> None:
        exited = await harness.finish(Program("seq 1 50000"))
        assert harness.text(exited) == "".join(f"{number}\n" for number in range(1, 50001))

    # Restarts of the runtime

    async def test_containers_outlive_the_runtime_and_are_found_again(self, harness: Harness) -> None:
        assert harness.again is not None
        sandbox = await harness.pod(annotations={"kept": "yes"})
        running = await harness.run(sandbox, SLEEPER)
        await harness.ended(await harness.run(sandbox, exiting(4), name="done"))
        before = {item.id: structs.asdict(item) for item in await harness.runtime.list_containers()}
        await harness.runtime.close()

        harness.runtime = harness.again()
        await harness.runtime.start()
        assert await harness.runtime.list_sandboxes() == (sandbox,)
        after = {item.id: structs.asdict(item) for item in await harness.runtime.list_containers()}
        assert after.keys() == before.keys()
        for container_id, was in before.items():
            assert {key: item for key, item in after[container_id].items() if item != was[key]} == {}
        assert await harness.runtime.exec(running, ["true"], Recorder().streams()) == 0
        await harness.runtime.stop_container(running, grace_seconds=10)
        assert (await harness.ended(running)).exit_code == 143

    async def test_exit_during_downtime_is_found_afterwards(self, harness: Harness, tmp_path: Path) -> None:
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

    async def test_background_processes_end_with_their_container(
        self, harness: Harness, tmp_path: Path
    ) -> None:
        """A process in its own session holds a pipe open; the pipe closes once the container has ended."""
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

"""The contract of every runtime on logs, commands, streams, ports, images and statistics."""

from __future__ import annotations

import asyncio

import pytest

from podling.runtime.base import ContainerState, ExecTimeout, ImageFailure, NotFound, RuntimeFailure
from podling.runtime.sim import ContainerScript, ExecScript, LogScript, PortScript, Run
from tests.contract.runtime_harness import SLEEPER, Harness, Program, Record, Recorder, exiting, serving

CAT = Program("cat", ContainerScript(echo=True))


class StreamsContract:
    """Tests that every runtime passes."""

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

    async def test_detaching_from_a_container_leaves_it_running(self, harness: Harness) -> None:
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

    async def test_closed_port_is_refused(self, harness: Harness) -> None:
        sandbox = await harness.pod()
        streams = Recorder().streams(stdin=True)
        assert streams.stdin is not None
        assert streams.stdout is not None
        with pytest.raises(RuntimeFailure, match="38918"):
            await harness.runtime.port_forward(sandbox.id, 38918, streams.stdin, streams.stdout)

    # Statistics and images

    async def test_only_running_containers_have_statistics(self, harness: Harness) -> None:
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

    async def test_invalid_image_name_is_refused(self, harness: Harness) -> None:
        with pytest.raises(ImageFailure) as caught:
            await harness.runtime.images.image_status("Not A Name")
        assert caught.value.reason == "InvalidImageName"

    async def test_runtime_reports_name_and_version(self, harness: Harness) -> None:
        status = await harness.runtime.status()
        assert status.runtime_ready
        assert status.name
        assert status.version

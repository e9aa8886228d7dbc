"""The contract of every runtime on life cycles of containers and sandboxes."""

from __future__ import annotations

import asyncio

import pytest

from podling.runtime.base import ContainerEventType, ContainerState, LinuxResources, NotFound, RuntimeFailure
from podling.runtime.sim import ContainerScript
from tests.contract.runtime_harness import SLEEPER, STUBBORN, Harness, Program, Recorder, exiting, serving


class LivesContract:
    """Tests that every runtime passes."""

    # Life cycles

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

    async def test_each_attempt_is_a_new_container(self, harness: Harness) -> None:
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
        missing = Program("", ContainerScript(start_error="not found"))
        container_id = await harness.create(await harness.pod(), missing, command=("no-such-command",))
        with pytest.raises(RuntimeFailure, match="not found"):
            await harness.runtime.start_container(container_id)
        exited = await harness.runtime.container_status(container_id)
        assert (exited.state, exited.reason) == (ContainerState.EXITED, "StartError")
        assert exited.exit_code == 128

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

    async def test_running_container_is_not_removed(self, harness: Harness) -> None:
        container_id = await harness.run(await harness.pod(), SLEEPER)
        with pytest.raises(RuntimeFailure):
            await harness.runtime.remove_container(container_id)

    # Sandboxes

    async def test_sandbox_keeps_its_configuration(self, harness: Harness) -> None:
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

    async def test_sandboxes_of_one_pod_are_listed_alone(self, harness: Harness) -> None:
        one, other = await harness.pod(), await harness.pod()
        assert one.pod_uid != other.pod_uid
        assert await harness.runtime.list_sandboxes(pod_uid=one.pod_uid) == (one,)
        assert await harness.runtime.list_sandboxes(pod_uid="of-no-pod") == ()
        listed = await harness.runtime.list_sandboxes()
        assert {sandbox.id for sandbox in listed} == {one.id, other.id}

    async def test_stopped_sandbox_runs_and_accepts_no_container(self, harness: Harness) -> None:
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

    async def test_missing_objects_are_not_found(self, harness: Harness) -> None:
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

    async def test_exit_is_an_event_without_polling(self, harness: Harness) -> None:
        events = harness.runtime.events()
        container_id = await harness.run(await harness.pod(), exiting(5))
        async with asyncio.timeout(10):
            while (event := await anext(events)).type is not ContainerEventType.EXITED:
                pass
        assert event.container_id == container_id
        assert (await harness.runtime.container_status(container_id)).exit_code == 5

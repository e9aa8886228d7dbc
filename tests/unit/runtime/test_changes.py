"""Changes of a runtime's state: the simulated runtime notes all that may change an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling import clock
from podling.runtime.base import ContainerSpec, LinuxResources, RuntimeFailure, SandboxSpec
from podling.runtime.changes import Changes, ReportsChanges
from podling.runtime.sim import (
    ContainerScript,
    ExecScript,
    Fault,
    FaultyRuntime,
    ProbeScript,
    Run,
    Scenario,
    SimRuntime,
    Usage,
)
from podling.sim.simulated_machine import SimulatedMachine


async def created(runtime: SimRuntime) -> tuple[str, str]:
    """Return the IDs of a sandbox and of a container in it."""
    image = await runtime.images.pull("web:1")
    spec = SandboxSpec(pod_uid="1", pod_name="web", pod_namespace="default", log_directory=Path("/logs"))
    sandbox = await runtime.run_sandbox(spec)
    container = ContainerSpec(name="app", attempt=0, image=image.id, log_path=Path("/logs/0.log"))
    return sandbox.id, await runtime.create_container(sandbox.id, container)


class Seen:
    """Counts the changes of a runtime."""

    def __init__(self, changes: Changes) -> None:
        self.count = 0
        self._listening = changes.listen(self._more)
        self._listening.__enter__()

    def _more(self) -> None:
        self.count += 1

    def has_grown(self) -> bool:
        before, self.count = self.count, 0
        return before > 0


async def test_changes_are_noted_until_the_listener_ends() -> None:
    changes = Changes()
    heard: list[int] = []
    with changes.listen(lambda: heard.append(1)):
        changes.note()
    changes.note()
    assert heard == [1]


async def test_simulated_runtime_notes_each_step_of_a_life() -> None:
    runtime = FaultyRuntime(Scenario(containers={"*": ContainerScript(runs=(Run(seconds=5),))}))
    assert isinstance(runtime, ReportsChanges)
    seen = Seen(runtime.changes)
    await runtime.images.pull("web:1")
    assert seen.has_grown()
    sandbox, container = await created(runtime)
    assert seen.has_grown()
    await runtime.start_container(container)
    assert seen.has_grown()
    await runtime.update_resources(container, LinuxResources(cpu_shares=2))
    assert seen.has_grown()
    runtime.rescript(container, ContainerScript())
    assert seen.has_grown()
    await clock.sleep(6)
    assert seen.has_grown()
    await runtime.remove_container(container)
    assert seen.has_grown()
    await runtime.stop_sandbox(sandbox)
    assert seen.has_grown()
    await runtime.remove_sandbox(sandbox)
    assert seen.has_grown()
    await runtime.images.remove_image("web:1")
    assert seen.has_grown()
    runtime.lose_power()
    assert seen.has_grown()


async def test_reading_notes_nothing() -> None:
    runtime = FaultyRuntime()
    await runtime.images.pull("web:1")
    seen = Seen(runtime.changes)
    await runtime.images.pull("web:1")
    await runtime.list_sandboxes()
    await runtime.list_containers()
    await runtime.images.list_images()
    await runtime.images.image_status("web:1")
    await runtime.stats()
    await runtime.status()
    assert not seen.has_grown()


async def test_runtime_with_faults_is_not_predictable() -> None:
    runtime = FaultyRuntime()
    seen = Seen(runtime.changes)
    assert runtime.is_predictable()
    fault = Fault(verb="status", error=RuntimeFailure("down"))
    runtime.faults.append(fault)
    assert seen.has_grown()
    assert not runtime.is_predictable()
    runtime.faults.remove(fault)
    assert seen.has_grown()
    assert runtime.is_predictable()
    runtime.faults = [fault, fault]
    assert seen.has_grown()
    assert list(runtime.faults) == [fault, fault]


def test_use_by_others_is_a_change_of_the_machine() -> None:
    machine = SimulatedMachine("node-1", Scenario(), (), lambda change: None, pod_cidr="10.0.0.0/24")
    seen = Seen(machine.changes)
    machine.memory_in_use += 5
    assert seen.has_grown()
    machine.disk_in_use += 7
    assert seen.has_grown()
    assert (machine.memory_in_use, machine.disk_in_use) == (5, 7)


@pytest.mark.parametrize(
    ("usage", "age", "expected"),
    [
        ((), 0, None),
        ((Usage(after=10), Usage(after=30)), 0, 10),
        ((Usage(after=10), Usage(after=30)), 10, 20),
        ((Usage(after=10), Usage(after=30)), 30, None),
    ],
)
async def test_next_step_of_use_is_known(
    usage: tuple[Usage, ...], age: float, expected: float | None
) -> None:
    runtime = SimRuntime(Scenario(containers={"*": ContainerScript(usage=usage)}))
    _, container = await created(runtime)
    assert runtime.seconds_to_next_use() is None
    await runtime.start_container(container)
    await clock.sleep(age)
    assert runtime.seconds_to_next_use() == expected


ANSWERS = ContainerScript(
    exec=(ExecScript(), ExecScript(command="ask", after=10)),
    probes=(ProbeScript(kind="tcp", after=30, success=False), ProbeScript(after=20)),
)


@pytest.mark.parametrize(
    ("script", "age", "expected"),
    [
        (ContainerScript(), 0, None),
        (ANSWERS, 0, 10),
        (ANSWERS, 4, 6),
        (ANSWERS, 10, 10),
        (ANSWERS, 20, 10),
        (ANSWERS, 30, None),
    ],
)
async def test_next_change_of_an_answer_is_known(
    script: ContainerScript, age: float, expected: float | None
) -> None:
    runtime = SimRuntime(Scenario(containers={"*": script}))
    _, container = await created(runtime)
    await runtime.start_container(container)
    await clock.sleep(age)
    assert runtime.seconds_to_next_answer(container) == expected
    assert runtime.seconds_to_next_answer("another") is None

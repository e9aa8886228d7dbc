"""Machines of scenarios: behaviours by labels, times that differ, and other use of memory and disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.runtime.base import ContainerSpec, ContainerState, SandboxSpec
from podling.runtime.sim import ContainerScript, Run, Usage
from podling.runtime.sim import Scenario as Scripts
from podling.sim.checkers.base import ContainerChange
from podling.sim.scenario import Behaviour
from podling.sim.simulated_machine import SimulatedMachine, spread, usage_from

FAST = Behaviour(pods={"app": "web"}, script=ContainerScript(runs=(Run(seconds=3, exit_code=7),)))
ANY = Behaviour(script=ContainerScript(runs=(Run(seconds=60),)))


def machine(seen: list[ContainerChange]) -> SimulatedMachine:
    return SimulatedMachine("n-1", Scripts(), (FAST, ANY), seen.append, pod_cidr="10.0.0.0/24")


async def start(runtime: SimulatedMachine, labels: dict[str, str], **annotations: str) -> str:
    """Start a container and return its ID."""
    sandbox = await runtime.run_sandbox(
        SandboxSpec(
            pod_uid="u",
            pod_name="web",
            pod_namespace="default",
            log_directory=Path("/nowhere"),
            labels=labels,
            annotations=annotations,
        )
    )
    await runtime.images.pull("web:1")
    spec = ContainerSpec(name="app", image="web:1", log_path=Path("/nowhere/app"))
    container = await runtime.create_container(sandbox.id, spec)
    await runtime.start_container(container)
    return container


@pytest.mark.parametrize(
    ("labels", "seconds"), [({"app": "web", "tier": "x"}, 3), ({"app": "db"}, 60), ({}, 60)]
)
async def test_first_behaviour_that_fits_decides(labels: dict[str, str], seconds: float) -> None:
    from podling import clock

    runtime = machine([])
    container = await start(runtime, labels)
    await clock.sleep(seconds - 0.1)
    assert (await runtime.container_status(container)).state is ContainerState.RUNNING
    await clock.sleep(0.2)
    assert (await runtime.container_status(container)).state is ContainerState.EXITED


async def test_annotation_comes_before_behaviours() -> None:
    from podling import clock

    runtime = machine([])
    container = await start(runtime, {"app": "web"}, **{"sim.podling.dev/app": "{}"})
    await clock.sleep(100)
    assert (await runtime.container_status(container)).state is ContainerState.RUNNING


async def test_observer_sees_starts_ends_and_losses_of_power() -> None:
    seen: list[ContainerChange] = []
    runtime = machine(seen)
    await start(runtime, {})
    runtime.lose_power()
    types = [None if each.type is None else each.type.value for each in seen]
    assert types == ["CREATED", "STARTED", None]
    assert {each.node for each in seen} == {"n-1"}


async def test_other_use_is_part_of_the_machines_use() -> None:
    runtime = machine([])
    runtime.memory_in_use, runtime.disk_in_use = 1000, 2000
    assert sum(each.memory_bytes for each in await runtime.stats()) == 1000
    assert sum(each.size_bytes for each in await runtime.images.list_images()) == 2000


async def test_spread_changes_times_within_its_bounds() -> None:
    script = ContainerScript(start_seconds=10, runs=(Run(seconds=100), Run()))
    assert spread(script, 0) == script
    starts = {spread(script, 0.5).start_seconds for _ in range(50)}
    assert len(starts) > 1
    assert all(5 <= each <= 15 for each in starts)
    assert spread(script, 0.5).runs[1].seconds is None


def test_use_of_cpu_changes_from_now_on() -> None:
    script = ContainerScript(
        usage=(Usage(cpu_millicores=100, memory_bytes=7), Usage(after=50, memory_bytes=9))
    )
    changed = ContainerScript(usage=usage_from(script, 20, 500))
    assert changed.cpu_nanoseconds(30) == (100 * 20 + 500 * 10) * 1_000_000
    assert changed.memory_bytes(30) == 7

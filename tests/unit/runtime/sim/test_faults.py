"""Faults of the simulated runtime."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from podling import clock
from podling.runtime.base import ContainerSpec, ContainerState, RuntimeFailure, SandboxSpec
from podling.runtime.sim.faults import Fault, FaultyRuntime


def sandbox(name: str) -> SandboxSpec:
    return SandboxSpec(
        pod_uid=f"uid-{name}", pod_name=name, pod_namespace="default", log_directory=Path("/logs")
    )


async def container(runtime: FaultyRuntime, pod: str, name: str = "app") -> str:
    made = await runtime.run_sandbox(sandbox(pod))
    image = await runtime.images.pull("app")
    spec = ContainerSpec(name=name, attempt=0, image=image.id, log_path=Path("/logs/0.log"))
    return await runtime.create_container(made.id, spec)


@pytest.mark.parametrize(
    ("fault", "fits"),
    [
        (Fault(verb="exec"), True),
        (Fault(verb="exec", pod="web-*", container="app"), True),
        (Fault(verb="exec", pod="web-?"), True),
        (Fault(verb="exec", pod="web"), False),
        (Fault(verb="exec", container="App"), False),
        (Fault(verb="stats"), False),
        (Fault(verb="exec", times=1), True),
        (Fault(verb="exec", times=1, met=1), False),
    ],
)
def test_fault_fits_verb_pod_and_container(fault: Fault, fits: bool) -> None:
    assert fault.fits("exec", "web-1", "app") is fits


async def test_fault_applies_to_named_pods_for_a_number_of_calls() -> None:
    runtime = FaultyRuntime()
    fault = Fault(verb="start_container", pod="web", error=RuntimeFailure("no memory"), times=1)
    runtime.faults.append(fault)
    web, other = await container(runtime, "web"), await container(runtime, "other")
    await runtime.start_container(other)
    with pytest.raises(RuntimeFailure, match="no memory"):
        await runtime.start_container(web)
    assert (await runtime.container_status(web)).state is ContainerState.CREATED
    await runtime.start_container(web)
    assert fault.met == 1
    assert (await runtime.container_status(web)).state is ContainerState.RUNNING


async def test_done_fault_fails_after_carrying_out_the_call() -> None:
    runtime = FaultyRuntime()
    web = await container(runtime, "web")
    runtime.faults.append(
        Fault(verb="start_container", container="app", done=True, error=RuntimeFailure("late"))
    )
    with pytest.raises(RuntimeFailure, match="late"):
        await runtime.start_container(web)
    assert (await runtime.container_status(web)).state is ContainerState.RUNNING


async def test_lie_changes_the_result() -> None:
    runtime = FaultyRuntime()
    await container(runtime, "web")
    runtime.faults.append(Fault(verb="list_containers", lie=lambda found: found[1:], times=1))
    assert len(await runtime.list_containers()) == 0
    assert len(await runtime.list_containers()) == 1


async def test_hanging_call_never_returns() -> None:
    runtime = FaultyRuntime()
    runtime.faults.append(Fault(verb="images.pull", hangs=True))
    call = asyncio.ensure_future(runtime.images.pull("app"))
    await clock.sleep(3600)
    assert not call.done()
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    assert await runtime.images.list_images() == ()


async def test_first_fitting_fault_decides() -> None:
    runtime = FaultyRuntime()
    runtime.faults += [
        Fault(verb="run_sandbox", pod="web", error=RuntimeFailure("first")),
        Fault(verb="run_sandbox", error=RuntimeFailure("second")),
    ]
    for name, text in (("web", "first"), ("db", "second")):
        with pytest.raises(RuntimeFailure, match=text):
            await runtime.run_sandbox(sandbox(name))

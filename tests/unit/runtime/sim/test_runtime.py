"""Simulated containers over time: behaviour that the contract cannot require of real programs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from podling import clock
from podling.runtime.base import (
    Container,
    ContainerEvent,
    ContainerSpec,
    ContainerState,
    ImageFailure,
    LinuxResources,
    NamespaceOptions,
    NotFound,
    ProbeAnswer,
    RuntimeFailure,
    Sandbox,
    SandboxSpec,
    Streams,
)
from podling.runtime.sim import (
    ContainerScript,
    ExecScript,
    ImageScript,
    LogScript,
    PodScript,
    ProbeScript,
    PullFailure,
    Run,
    Scenario,
    SimRuntime,
    Usage,
)
from podling.runtime.sim.memory_log import LINES_MAX
from podling.sim.loop import run


async def pod(runtime: SimRuntime, name: str = "web", *, host_network: bool = False) -> Sandbox:
    return await runtime.run_sandbox(
        SandboxSpec(
            pod_uid=f"uid-{name}",
            pod_name=name,
            pod_namespace="default",
            log_directory=Path("/logs"),
            namespaces=NamespaceOptions(host_network=host_network),
        )
    )


async def create(runtime: SimRuntime, sandbox: Sandbox, *, attempt: int = 0) -> str:
    image = await runtime.images.pull("app")
    path = Path(f"/logs/{sandbox.pod_name}/{attempt}.log")
    return await runtime.create_container(
        sandbox.id, ContainerSpec(name="app", attempt=attempt, image=image.id, log_path=path)
    )


def scripted(script: ContainerScript, **scenario: object) -> SimRuntime:
    return SimRuntime(Scenario(containers={"*": script}, **scenario))  # type: ignore[arg-type]


async def status_of(runtime: SimRuntime, container_id: str) -> Container:
    return await runtime.container_status(container_id)


async def test_a_life_takes_the_time_that_its_script_says() -> None:
    runtime = scripted(
        ContainerScript(start_seconds=2, runs=(Run(seconds=3600, exit_code=1, message="tired"),))
    )
    container_id = await create(runtime, await pod(runtime))
    began = clock.now()
    await runtime.start_container(container_id)
    await clock.sleep(7200)
    ended = await status_of(runtime, container_id)
    assert ended.started_at is not None
    assert ended.finished_at is not None
    assert (ended.started_at - began).total_seconds() == 2
    assert (ended.finished_at - ended.started_at).total_seconds() == 3600
    assert (ended.exit_code, ended.message) == (1, "tired")


async def test_attempts_have_lives_of_their_own() -> None:
    runtime = scripted(
        ContainerScript(runs=(Run(seconds=1, exit_code=1), Run(seconds=1, exit_code=2), Run()))
    )
    sandbox = await pod(runtime)
    codes = []
    for attempt in range(4):
        container_id = await create(runtime, sandbox, attempt=attempt)
        await runtime.start_container(container_id)
        await clock.sleep(10)
        codes.append((await status_of(runtime, container_id)).exit_code)
    assert codes == [1, 2, None, None]


async def test_an_attempt_is_made_only_once() -> None:
    runtime = SimRuntime()
    sandbox = await pod(runtime)
    container_id = await create(runtime, sandbox)
    with pytest.raises(RuntimeFailure, match=f'is reserved for "{container_id}"'):
        await create(runtime, sandbox)
    await runtime.remove_container(container_id)
    await create(runtime, sandbox)


async def test_memory_can_run_out() -> None:
    runtime = scripted(ContainerScript(runs=(Run(seconds=5, out_of_memory=True),)))
    container_id = await create(runtime, await pod(runtime))
    await runtime.start_container(container_id)
    await clock.sleep(6)
    ended = await status_of(runtime, container_id)
    assert (ended.exit_code, ended.reason) == (137, "OOMKilled")


async def test_a_stop_waits_as_long_as_the_container_takes_and_no_longer_than_the_grace() -> None:
    runtime = scripted(ContainerScript(stop_seconds=12, stop_exit_code=0))
    sandbox = await pod(runtime)
    took = []
    for attempt, grace in enumerate((30, 5)):
        container_id = await create(runtime, sandbox, attempt=attempt)
        await runtime.start_container(container_id)
        began = clock.monotonic()
        await runtime.stop_container(container_id, grace_seconds=grace)
        took.append((clock.monotonic() - began, (await status_of(runtime, container_id)).exit_code))
    assert took == [(12, 0), (5, 137)]


async def test_a_container_can_be_stopped_while_it_starts() -> None:
    runtime = scripted(ContainerScript(start_seconds=60))
    container_id = await create(runtime, await pod(runtime))
    starting = asyncio.create_task(runtime.start_container(container_id))
    await clock.sleep(1)
    await runtime.stop_container(container_id, grace_seconds=0)
    with pytest.raises(RuntimeFailure, match="killed while it started"):
        await starting
    assert (await status_of(runtime, container_id)).exit_code == 137


async def test_creation_and_start_can_fail() -> None:
    runtime = scripted(ContainerScript(create_error="no space left on device"))
    with pytest.raises(RuntimeFailure, match="no space left"):
        await create(runtime, await pod(runtime))
    assert await runtime.list_containers() == ()


async def test_sandboxes_fail_as_often_as_scripted() -> None:
    script = PodScript(sandbox_seconds=3, sandbox_error="no addresses", sandbox_failures=2)
    runtime = SimRuntime(Scenario(pods={"default/web": script}))
    for _ in range(2):
        with pytest.raises(RuntimeFailure, match="no addresses"):
            await pod(runtime)
    assert (await pod(runtime)).ready
    assert (await pod(runtime, "other")).ready
    assert clock.monotonic() == 9


async def test_addresses_are_given_out_in_order_and_not_again_at_once() -> None:
    runtime = SimRuntime(pod_cidr="10.1.2.0/29")
    first, second = await pod(runtime, "a"), await pod(runtime, "b")
    host = await pod(runtime, "host", host_network=True)
    await runtime.stop_sandbox(first.id)
    rest = [(await pod(runtime, name)).ips for name in ("c", "d", "e", "f")]
    assert (first.ips, second.ips, host.ips) == (("10.1.2.2",), ("10.1.2.3",), ())
    assert rest == [("10.1.2.4",), ("10.1.2.5",), ("10.1.2.6",), ("10.1.2.2",)]
    with pytest.raises(RuntimeFailure, match=r"no IP addresses available in range 10\.1\.2\.0/29"):
        await pod(runtime, "g")


async def test_pulls_take_time_and_fail_in_turn() -> None:
    image = ImageScript(
        pull_seconds=20, failures=(PullFailure(message="reset by peer", reason="RegistryUnavailable"),)
    )
    runtime = SimRuntime(Scenario(images={"docker.io/library/app:1": image}))
    assert await runtime.images.image_status("app:1") is None
    with pytest.raises(ImageFailure, match="reset by peer") as caught:
        await runtime.images.pull("app:1")
    assert (caught.value.reason, clock.monotonic()) == ("RegistryUnavailable", 20)
    pulled = await runtime.images.pull("app:1")
    assert await runtime.images.image_status("docker.io/library/app:1") == pulled


async def test_images_can_be_missing_or_there_from_the_start() -> None:
    runtime = SimRuntime(
        Scenario(
            images={
                "*/gone:*": ImageScript(missing=True),
                "*/here:*": ImageScript(present=True, size_bytes=5),
            }
        )
    )
    with pytest.raises(ImageFailure, match="not found"):
        await runtime.images.pull("gone")
    here = await runtime.images.image_status("here")
    assert here is not None
    assert here.size_bytes == 5
    with pytest.raises(NotFound):
        await runtime.images.remove_image("never-seen")


async def test_a_container_needs_its_image() -> None:
    runtime = SimRuntime()
    sandbox = await pod(runtime)
    with pytest.raises(NotFound, match="sha256:none"):
        await runtime.create_container(
            sandbox.id, ContainerSpec(name="app", image="sha256:none", log_path=Path("/l"))
        )


async def test_probes_are_answered_by_the_script_and_refused_by_the_dead() -> None:
    ready = ProbeScript(kind="http", target="8080/ready", success=False, output="503")
    script = ContainerScript(
        runs=(Run(seconds=60),), probes=(ready, ProbeScript(kind="http", after=30, seconds=2))
    )
    runtime = scripted(script)
    container_id = await create(runtime, await pod(runtime))
    refused = ProbeAnswer(success=False, output="connect: connection refused")
    assert await runtime.probe(container_id, "http", "8080/ready") == refused
    await runtime.start_container(container_id)
    assert await runtime.probe(container_id, "http", "8080/ready") == ProbeAnswer(success=False, output="503")
    await clock.sleep(30)
    began = clock.monotonic()
    assert await runtime.probe(container_id, "http", "8080/ready") == ProbeAnswer(success=True)
    assert clock.monotonic() - began == 2
    await clock.sleep(60)
    assert await runtime.probe(container_id, "http", "8080/ready") == refused


async def test_a_scenario_can_change_its_mind() -> None:
    runtime = SimRuntime()
    container_id = await create(runtime, await pod(runtime))
    await runtime.start_container(container_id)
    runtime.rescript(container_id, ContainerScript(exec=(ExecScript(exit_code=9),)))
    assert await runtime.exec(container_id, ["anything"], Streams()) == 9
    runtime.write_log(container_id, "said\n")
    runtime.end(container_id, 4, message="told to")
    ended = await status_of(runtime, container_id)
    assert (ended.exit_code, ended.reason, ended.message) == (4, "Error", "told to")
    log = runtime.log(ended.log_path)
    assert log is not None
    assert log.read().endswith(b" stdout F said\n")


async def test_power_loss_ends_containers_without_events() -> None:
    runtime = SimRuntime()
    sandbox = await pod(runtime)
    container_id = await create(runtime, sandbox)
    await runtime.start_container(container_id)
    events = runtime.events()
    runtime.lose_power()
    assert [event async for event in events] == []
    ended = await status_of(runtime, container_id)
    assert (ended.state, ended.exit_code, ended.reason) == (ContainerState.EXITED, 255, "Unknown")
    assert [box.ready for box in await runtime.list_sandboxes()] == [False]


async def test_limits_are_remembered_one_by_one() -> None:
    runtime = SimRuntime()
    container_id = await create(runtime, await pod(runtime))
    await runtime.update_resources(container_id, LinuxResources(memory_limit=100))
    await runtime.update_resources(container_id, LinuxResources(cpu_quota=5))
    assert (await status_of(runtime, container_id)).resources == LinuxResources(memory_limit=100, cpu_quota=5)


async def test_figures_follow_the_script() -> None:
    usage = (Usage(cpu_millicores=500, memory_bytes=7),)
    runtime = scripted(ContainerScript(usage=usage))
    container_id = await create(runtime, await pod(runtime))
    await runtime.start_container(container_id)
    await clock.sleep(60)
    (figures,) = await runtime.stats()
    assert (figures.cpu_nanoseconds, figures.memory_bytes) == (30_000_000_000, 7)


async def test_a_log_keeps_its_newest_lines() -> None:
    """A year of ticking takes no more memory than an hour of it."""
    runtime = scripted(ContainerScript(logs=(LogScript(text="tick", every=1),)))
    container_id = await create(runtime, await pod(runtime))
    await runtime.start_container(container_id)
    await clock.sleep(2 * LINES_MAX)
    log = runtime.log((await status_of(runtime, container_id)).log_path)
    assert log is not None
    assert len(log.read().splitlines()) == LINES_MAX
    assert log.end - log.start == len(log.read())
    assert log.read(log.end - 5) == b"tick\n"


def test_the_same_seed_makes_the_same_lives() -> None:
    async def story() -> list[ContainerEvent]:
        runtime = scripted(ContainerScript(runs=(Run(seconds=1, exit_code=1),)))
        events = runtime.events()
        for name in ("a", "b"):
            await runtime.start_container(await create(runtime, await pod(runtime, name)))
        await clock.sleep(5)
        await runtime.close()
        return [event async for event in events]

    first, again, other = run(story(), seed=1), run(story(), seed=1), run(story(), seed=2)
    assert first == again
    assert [event.type for event in first] == [event.type for event in other]
    assert first != other

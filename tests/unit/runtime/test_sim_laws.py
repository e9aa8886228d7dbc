"""Invariants of simulated containers over random histories in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from podling import clock
from podling.runtime.base import (
    Container,
    ContainerEventType,
    ContainerSpec,
    ContainerState,
    RuntimeFailure,
    SandboxSpec,
    Streams,
)
from podling.runtime.sim import ContainerScript, ExecScript, Run, Scenario, SimRuntime
from podling.sim.loop import run

ORDER = [ContainerState.CREATED, ContainerState.RUNNING, ContainerState.EXITED]
EVENT_ORDER = [
    ContainerEventType.CREATED,
    ContainerEventType.STARTED,
    ContainerEventType.EXITED,
    ContainerEventType.REMOVED,
]
SCRIPTS = {
    "*/steady": ContainerScript(),
    "*/short": ContainerScript(runs=(Run(seconds=5, exit_code=1), Run(seconds=0))),
    "*/slow": ContainerScript(start_seconds=3, stop_seconds=4),
    "*/stubborn": ContainerScript(ignores_signals=True, exec=(ExecScript(seconds=2),)),
    "*/broken": ContainerScript(start_error="no such file"),
}

verbs = st.sampled_from(
    ["pod", "stop_pod", "remove_pod", "create", "start", "stop", "kill", "remove", "exec", "wait", "power"]
)
histories = st.lists(st.tuples(verbs, st.integers(0, 7), st.integers(0, 6)), max_size=40)


@dataclass
class World:
    """A runtime, what was made on it, and what was last seen of each container."""

    runtime: SimRuntime
    pods: list[str] = field(default_factory=list)
    containers: list[str] = field(default_factory=list)
    seen: dict[str, Container] = field(default_factory=dict)
    running: list[asyncio.Task[None]] = field(default_factory=list)

    async def pod(self, seconds: int) -> None:
        number = len(self.pods)
        spec = SandboxSpec(
            pod_uid=f"uid-{number}", pod_name=f"p{number}", pod_namespace="default", log_directory=Path("/l")
        )
        self.pods.append((await self.runtime.run_sandbox(spec)).id)

    def begin(self, call: Coroutine[Any, Any, object]) -> None:
        """Let a call go on beside the others, as a kubelet's calls do; it may be refused."""

        async def finish() -> None:
            with suppress(RuntimeFailure):
                await call

        self.running.append(asyncio.create_task(finish()))

    async def do(self, verb: str, which: int, seconds: int) -> None:
        runtime = self.runtime
        pod = self.pods[which % len(self.pods)] if self.pods else ""
        container = self.containers[which % len(self.containers)] if self.containers else ""
        match verb:
            case "pod":
                await self.pod(seconds)
            case "stop_pod":
                self.begin(runtime.stop_sandbox(pod))
            case "remove_pod":
                self.begin(runtime.remove_sandbox(pod))
            case "create":
                await self.create(pod, which)
            case "start":
                self.begin(runtime.start_container(container))
            case "stop":
                self.begin(runtime.stop_container(container, grace_seconds=seconds))
            case "kill":
                self.begin(runtime.stop_container(container, grace_seconds=0))
            case "remove":
                self.begin(runtime.remove_container(container))
            case "exec":
                self.begin(runtime.exec(container, ["anything"], Streams()))
            case "power":
                if which == seconds:  # now and then
                    runtime.lose_power()
        await clock.sleep(seconds if verb == "wait" else 0)

    async def create(self, pod: str, which: int) -> None:
        image = await self.runtime.images.pull("app")
        names = [pattern.partition("/")[2] for pattern in SCRIPTS]
        spec = ContainerSpec(
            name=names[which % len(names)],
            attempt=len(self.containers),
            image=image.id,
            log_path=Path(f"/l/{len(self.containers)}"),
        )
        with suppress(RuntimeFailure):
            self.containers.append(await self.runtime.create_container(pod, spec))

    async def check(self) -> None:
        """Check the invariants that hold at every moment."""
        sandboxes = {sandbox.id: sandbox for sandbox in await self.runtime.list_sandboxes()}
        listed = {container.id: container for container in await self.runtime.list_containers()}
        addresses = [sandbox.ips for sandbox in sandboxes.values() if sandbox.ready]
        assert len(addresses) == len(set(addresses)), "two pods with one address"
        for container in listed.values():
            assert container.sandbox_id in sandboxes, "a container without its sandbox"
            if container.state is ContainerState.RUNNING:
                assert sandboxes[container.sandbox_id].ready, "it runs in a stopped sandbox"
            assert (container.exit_code is not None) == (container.state is ContainerState.EXITED)
            assert (container.pid is not None) == (container.state is ContainerState.RUNNING)
            if container.started_at and container.finished_at:
                assert container.finished_at >= container.started_at
            before = self.seen.get(container.id, container)
            assert ORDER.index(container.state) >= ORDER.index(before.state), "a life went back"
            if before.state is ContainerState.EXITED:
                assert container == before, "something happened after the end"
        self.seen |= listed


@settings(deadline=None, max_examples=400)
@given(histories)
def test_lives_only_go_forward(history: list[tuple[str, int, int]]) -> None:
    async def story() -> None:
        world = World(SimRuntime(Scenario(containers=SCRIPTS), pod_cidr="10.0.0.0/24"))
        events = world.runtime.events()
        await world.pod(0)
        for verb, which, seconds in history:
            await world.do(verb, which, seconds)
            await world.check()
        await clock.sleep(3600)
        await world.check()
        stuck = [task for task in world.running if not task.done()]
        assert not stuck, "a call that never ends"
        for task in world.running:
            task.result()
        await world.runtime.close()
        told: dict[str, list[ContainerEventType]] = {}
        async for event in events:
            told.setdefault(event.container_id, []).append(event.type)
        for container_id, types in told.items():
            if container_id:
                places = [EVENT_ORDER.index(type_) for type_ in types]
                assert places == sorted(set(places)), f"events out of order or twice: {types}"

    run(story())

"""The runtime of a scenario's nodes: behaviours by labels, faults, and an observer of every container."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from msgspec.structs import replace

from podling import clock, ids
from podling.runtime.base import (
    Container,
    ContainerEventType,
    ContainerSpec,
    ContainerStats,
    Sandbox,
    SandboxSpec,
)
from podling.runtime.image_service import Image
from podling.runtime.sim import ContainerScript, FaultyRuntime, Usage
from podling.runtime.sim import Scenario as Scripts
from podling.runtime.sim.script import ANNOTATION_PREFIX, POD_ANNOTATION, annotation
from podling.sim.checkers.base import ContainerChange
from podling.sim.scenario import Behaviour

Observe = Callable[[ContainerChange], None]
OTHER_USE = "other-use"
"""The ID of what is no container and uses memory, and of the image that uses the disk."""


class SimulatedMachine(FaultyRuntime):
    """One node's machine.

    Args:
        observe: receives every change of a container.
    """

    def __init__(
        self,
        node: str,
        scripts: Scripts,
        behaviours: Sequence[Behaviour],
        observe: Observe,
        *,
        pod_cidr: str,
    ) -> None:
        self._node = node
        self._behaviours = behaviours
        self._observe = observe
        self._memory_in_use = self._disk_in_use = 0
        super().__init__(scripts, pod_cidr=pod_cidr)
        self._list_images = self.images.list_images
        self.images.list_images = self._list_all_images  # type: ignore[method-assign]

    @property
    def memory_in_use(self) -> int:
        """Bytes that something else than containers uses."""
        return self._memory_in_use

    @memory_in_use.setter
    def memory_in_use(self, amount: int) -> None:
        self._memory_in_use = amount
        self.changes.note()

    @property
    def disk_in_use(self) -> int:
        """Bytes of the disk that something else than containers and images uses."""
        return self._disk_in_use

    @disk_in_use.setter
    def disk_in_use(self, amount: int) -> None:
        self._disk_in_use = amount
        self.changes.note()

    async def run_sandbox(self, spec: SandboxSpec) -> Sandbox:
        behaviour = self._behaviour(spec.pod_namespace, spec.labels, "*")
        if behaviour is not None and behaviour.sandbox is not None and POD_ANNOTATION not in spec.annotations:
            text = annotation(behaviour.sandbox)
            spec = replace(spec, annotations={**spec.annotations, POD_ANNOTATION: text})
        return await super().run_sandbox(spec)

    async def create_container(self, sandbox_id: str, spec: ContainerSpec) -> str:
        sandbox = self._sandboxes.get(sandbox_id)
        key = ANNOTATION_PREFIX + spec.name
        if sandbox is not None and key not in spec.annotations and key not in sandbox.annotations:
            behaviour = self._behaviour(sandbox.pod_namespace, sandbox.labels, spec.name)
            if behaviour is not None:
                text = annotation(spread(behaviour.script, behaviour.spread))
                spec = replace(spec, annotations={**spec.annotations, key: text})
        return await super().create_container(sandbox_id, spec)

    async def stats(self) -> tuple[ContainerStats, ...]:
        found = await super().stats()
        if not self.memory_in_use:
            return found
        other = ContainerStats(
            container_id=OTHER_USE,
            at=clock.now(),
            cpu_nanoseconds=0,
            memory_bytes=self.memory_in_use,
            memory_working_set_bytes=self.memory_in_use,
            processes=1,
        )
        return (*found, other)

    def containers(self) -> list[tuple[Container, dict[str, str]]]:
        """Return every container with the labels of its pod."""
        lives = self._lives.values()
        return [(life.container, self._sandboxes[life.container.sandbox_id].labels) for life in lives]

    def use_cpu(self, namespace: str, pod: str, container: str, millicores: int) -> None:
        """Make the running containers of a pod that fit use so much CPU from now on."""
        for life in self._lives.values():
            sandbox = self._sandboxes[life.container.sandbox_id]
            if (sandbox.pod_namespace, sandbox.pod_name) != (namespace, pod) or not life.running:
                continue
            if fnmatchcase(life.container.name, container):
                usage = usage_from(life.script, life.age(), millicores)
                life.script = replace(life.script, usage=usage)

    def lose_power(self) -> None:
        lost = [life.container for life in self._lives.values() if life.running]
        super().lose_power()
        for container in lost:
            self._note(None, container)

    async def _list_all_images(self) -> tuple[Image, ...]:
        found = tuple(await self._list_images())
        if not self.disk_in_use:
            return found
        return (*found, Image(id=OTHER_USE, size_bytes=self.disk_in_use, pinned=True))

    def _behaviour(self, namespace: str, labels: dict[str, str], container: str) -> Behaviour | None:
        for each in self._behaviours:
            if (
                fnmatchcase(namespace, each.namespace)
                and (container == "*" or fnmatchcase(container, each.container))
                and each.pods.items() <= labels.items()
            ):
                return each
        return None

    def _report(self, kind: ContainerEventType, container: Container) -> None:
        self._note(kind, container)
        super()._report(kind, container)

    def _note(self, kind: ContainerEventType | None, container: Container) -> None:
        sandbox = self._sandboxes[container.sandbox_id]
        self._observe(ContainerChange(clock.steady_now(), self._node, kind, container, sandbox))


def spread(script: ContainerScript, part: float) -> ContainerScript:
    """Return the script with times that differ by at most ``part``, drawn by the seed."""
    if not part:
        return script
    runs = tuple(
        run if run.seconds is None else replace(run, seconds=run.seconds * _factor(part))
        for run in script.runs
    )
    return replace(script, start_seconds=script.start_seconds * _factor(part), runs=runs)


def usage_from(script: ContainerScript, age: float, millicores: int) -> tuple[Usage, ...]:
    """Return the script's use with another use of the CPU from ``age`` on; the memory stays. Pure."""
    before = tuple(each for each in script.usage if each.after < age)
    later = Usage(after=age, cpu_millicores=millicores, memory_bytes=script.memory_bytes(age))
    return (*before, later)


def _factor(part: float) -> float:
    return ids.uniform(1 - part, 1 + part)

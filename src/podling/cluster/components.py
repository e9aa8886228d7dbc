"""The control plane's loops: scheduler and controllers, on one event loop, over in-process clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, cast

from podling.client.base import Client
from podling.client.requests import User
from podling.client.typed_kinds import TypedClient
from podling.controllers.auth.certificate_signing import Signer
from podling.controllers.base import Controller, ControllerFactory
from podling.controllers.controller_manager import ControllerManager
from podling.controllers.options import DEFAULT_OPTIONS, ControllerOptions
from podling.controllers.other_apis import NO_OTHER_APIS, OtherApis
from podling.controllers.registry import NAMES, controllers
from podling.controllers.volumes.volume_folders import Folders
from podling.machinery.feature_gates import NO_GATES
from podling.machinery.network_ranges import DEFAULT_RANGES, NetworkRanges
from podling.scheduler.configuration.types import KubeSchedulerConfiguration
from podling.supervisor import Supervisor

_GROUPS = ("system:masters", "system:authenticated")
CONTROLLER_MANAGER = User("system:kube-controller-manager", _GROUPS)
SCHEDULER = User("system:kube-scheduler", _GROUPS)
"""Under Kubernetes' own names, so that records of who wrote read the same; they are trusted like the server
that they share a process with."""


def with_parts(
    factories: Sequence[ControllerFactory], folders: Folders, others: OtherApis
) -> list[ControllerFactory]:
    """Return the factories with ``folders`` and ``others`` passed to those that use them."""
    return [_with_parts(make, folders, others) for make in factories]


def _with_parts(make: ControllerFactory, folders: Folders, others: OtherApis) -> ControllerFactory:
    kind = make.func if isinstance(make, partial) else make
    parts: dict[str, Any] = {}
    if getattr(kind, "uses_folders", False):
        parts["folders"] = folders
    if getattr(kind, "uses_other_apis", False):
        parts["others"] = others
    return partial(cast("Callable[..., Controller]", make), **parts) if parts else make


class Collector(Protocol):
    """A component that counts."""

    def collect(self) -> Iterator[Any]:
        """Return the families of ``prometheus_client``."""
        ...


class Observer(Protocol):
    """Shows people the state of the components."""

    def look_after(self, component: str, task: asyncio.Task[None]) -> None:
        """Watch the task that a component lives in."""
        ...

    def count(self, collector: Collector) -> None:
        """Show what a component counts."""
        ...


async def run_components(  # noqa: PLR0913 the parts that controllers are made of
    client_for: Callable[[User], Client],
    ca_certificate: str,
    folders: Folders,
    signer: Signer | None = None,
    others: OtherApis = NO_OTHER_APIS,
    observer: Observer | None = None,
    names: Collection[str] = NAMES,
    ranges: NetworkRanges = DEFAULT_RANGES,
    options: ControllerOptions = DEFAULT_OPTIONS,
    scheduler_configuration: KubeSchedulerConfiguration | None = None,
    added: Sequence[ControllerFactory] = (),
    feature_gates: Mapping[str, bool] = NO_GATES,
) -> None:
    """Run the scheduler and the controllers with these ``names`` until cancelled.

    ``folders`` keeps the volumes that are made for claims, ``signer`` has the authority's key; without one no
    certificates are signed. ``others`` leads to aggregated APIs. Nodes get blocks of ``ranges``;
    ``options`` are the controllers'; ``scheduler_configuration`` None is the default one. ``added`` are the
    controllers of extensions; ``feature_gates`` are those that differ from their defaults.
    """
    from podling.scheduler.scheduler import Scheduler

    loops = controllers(
        root_ca=ca_certificate,
        folders=folders,
        signer=signer,
        others=others,
        ranges=ranges,
        options=options,
        names=names,
        feature_gates=feature_gates,
    )
    client = client_for(CONTROLLER_MANAGER)
    manager = ControllerManager(
        TypedClient(client) if added else client, [*loops, *with_parts(added, folders, others)]
    )
    scheduler = Scheduler(
        client_for(SCHEDULER), manager.informers, scheduler_configuration, feature_gates=feature_gates
    )
    async with Supervisor() as supervisor:
        tasks = {
            "controller-manager": supervisor.keep_running("controller-manager", manager.run),
            "scheduler": supervisor.keep_running("scheduler", scheduler.run),
        }
        if observer is not None:
            observer.count(manager)
            observer.count(scheduler)
            for component, task in tasks.items():
                observer.look_after(component, task)

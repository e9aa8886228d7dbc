"""The control plane's loops: scheduler and controllers, on one event loop, over in-process clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from podling.client.base import Client
from podling.client.local import User
from podling.controllers.certificate_signing import Signer
from podling.controllers.manager import ControllerManager
from podling.controllers.other_apis import NO_OTHER_APIS, OtherApis
from podling.controllers.registry import controllers
from podling.controllers.volume_folders import Folders

_GROUPS = ("system:masters", "system:authenticated")
CONTROLLER_MANAGER = User("system:kube-controller-manager", _GROUPS)
SCHEDULER = User("system:kube-scheduler", _GROUPS)
"""Under Kubernetes' own names, so that records of who wrote read the same; they are trusted like the server
that they share a process with."""


async def run_components(
    client_for: Callable[[User], Client],
    ca_certificate: str,
    folders: Folders,
    signer: Signer | None = None,
    others: OtherApis = NO_OTHER_APIS,
    report: Callable[[str, asyncio.Task[None]], object] = lambda name, task: None,
) -> None:
    """Run the scheduler and every controller until cancelled. Raises what ends one of them.

    ``folders`` keeps the volumes that are made for claims, ``signer`` has the authority's key; without one no
    certificates are signed. ``others`` leads to what other servers keep, ``report`` is told the task that
    each component lives in.
    """
    from podling.scheduler.scheduler import Scheduler

    loops = controllers(root_ca=ca_certificate, folders=folders, signer=signer, others=others)
    manager = ControllerManager(client_for(CONTROLLER_MANAGER), loops)
    async with asyncio.TaskGroup() as group:
        report("controller-manager", group.create_task(manager.run(), name="controllers"))
        scheduler = Scheduler(client_for(SCHEDULER), manager.informers)
        report("scheduler", group.create_task(scheduler.run(), name="scheduler"))

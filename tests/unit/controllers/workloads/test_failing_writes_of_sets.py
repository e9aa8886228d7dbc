"""Sets whose pods cannot be created, or whose status cannot be written.

Cases of ``TestStatefulSetStatusUpdate`` and ``TestStatefulSetHonorRevisionHistoryLimit`` in
stateful_set_control_test.go, and of ``TestSimpleDaemonSetUpdatesStatusError`` in daemon_controller_test.go.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec import structs

from podling.api.apps_v1 import ControllerRevision, DaemonSet, StatefulSet
from podling.api.core_v1 import Pod
from podling.client.base import key_of
from podling.controllers.base import Controller
from podling.controllers.workloads.daemonset import DaemonSetController
from podling.controllers.workloads.statefulset import StatefulSetController
from podling.machinery import errors
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane
from tests.support.control_loops import add_node
from tests.support.one_pass import following
from tests.support.workloads import rolling_stateful, stateful_set
from tests.unit.controllers.workloads.daemonsets import daemon_set


class Refusing:
    """A client that refuses to create pods, and to write any status."""

    def __init__(self, client: Any, *, pods: bool, status: bool) -> None:
        self._client = client
        self._pods, self._status = pods, status

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def create(self, obj: Any, **options: Any) -> Any:
        if self._pods and isinstance(obj, Pod):
            raise errors.internal("no pods")
        return await self._client.create(obj, **options)

    async def update(self, obj: Any, **options: Any) -> Any:
        if self._status and options.get("subresource") == "status":
            raise errors.internal("no status")
        return await self._client.update(obj, **options)


AnySet = StatefulSet | DaemonSet
Sets = tuple[AnySet, Callable[..., Controller]]
SETS: dict[str, Callable[[], Sets]] = {
    "StatefulSet": lambda: (
        stateful_set(1, revision_history_limit=0, update_strategy=rolling_stateful(partition=1)),
        StatefulSetController,
    ),
    "DaemonSet": lambda: (
        structs.replace(wanted := daemon_set(), spec=structs.replace(wanted.spec, revision_history_limit=0)),
        DaemonSetController,
    ),
}


@asynccontextmanager
async def refusing(
    cluster: ControlPlane, kind: str, *, pods: bool = False, status: bool = False
) -> AsyncIterator[tuple[AnySet, Controller]]:
    """Create a set of this kind, and its controller with a client that refuses requests."""
    wanted, controller = SETS[kind]()
    await add_node(cluster.client, "n1")
    made = await cluster.client.create(wanted)
    client: Any = Refusing(cluster.client, pods=pods, status=status)
    async with following(client, controller) as run:
        yield made, run


FAILURES = [(False, False, ""), (True, False, "no pods"), (False, True, "no status"), (True, True, "no pods")]


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize(("pods", "status", "message"), FAILURES)
async def test_failure_of_pods_counts_more_than_that_of_the_status(
    cluster: ControlPlane, kind: str, pods: bool, status: bool, message: str
) -> None:
    failure = ""
    async with refusing(cluster, kind, pods=pods, status=status) as (made, controller):
        try:
            await controller.reconcile(key_of(made))
        except ApiError as error:
            failure = error.status.message
    assert message in failure
    assert bool(message) == bool(failure)
    held = await cluster.client.get(type(made), made.metadata.name or "", "default")
    observed = (held.status.observed_generation or 0) == held.metadata.generation
    assert observed is not status, "the status is written though pods cannot be created"


@pytest.mark.parametrize("kind", SETS)
async def test_history_is_limited_though_the_status_cannot_be_written(
    cluster: ControlPlane, kind: str
) -> None:
    async with refusing(cluster, kind, pods=True, status=True) as (made, controller):
        for number in range(2, 6):
            containers = [{"name": "main", "image": f"new:{number}"}]
            patch = {"spec": {"template": {"spec": {"containers": containers}}}}
            await cluster.client.patch(type(made), made.metadata.name or "", patch, "default")
            await cluster.advance(seconds=1)
            with pytest.raises(ApiError):
                await controller.reconcile(key_of(made))
            await cluster.advance(seconds=1)
        revisions = (await cluster.client.list(ControllerRevision, "default")).items
    assert [each.revision for each in revisions] == [4]

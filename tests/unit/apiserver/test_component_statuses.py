"""ComponentStatuses: computed at each request, and not stored."""

from __future__ import annotations

import asyncio

import pytest

from podling import clock
from podling.api.core_v1 import ComponentStatus
from podling.apiserver.kinds.core.component_statuses import ComponentStatusRules
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane


async def rows(cluster: ControlPlane) -> dict[str, tuple[str, str]]:
    """Status and message of each component, as a table shows them."""
    found = [ComponentStatusRules().row(each, clock.now()) for each in await listed(cluster)]
    return {name: (status, message) for name, status, message, _ in found}


async def listed(cluster: ControlPlane, selector: str = "") -> tuple[ComponentStatus, ...]:
    return (await cluster.client.list(ComponentStatus, field_selector=selector)).items


async def test_a_component_is_well_as_long_as_it_runs(cluster: ControlPlane) -> None:
    assert list(await rows(cluster)) == ["scheduler", "controller-manager", "etcd-0"]
    assert (await rows(cluster))["etcd-0"] == ("Healthy", "ok")
    assert (await rows(cluster))["scheduler"] == ("Unhealthy", "it does not run in this process")
    ends = asyncio.Event()

    async def work() -> None:
        await ends.wait()
        raise ValueError("no more nodes")

    task = asyncio.create_task(work())
    cluster.server.look_after("scheduler", task)
    assert (await rows(cluster))["scheduler"] == ("Healthy", "ok")
    ends.set()
    await asyncio.wait([task])
    assert (await rows(cluster))["scheduler"] == ("Unhealthy", "no more nodes")


async def test_one_of_them(cluster: ControlPlane) -> None:
    found = await cluster.client.get(ComponentStatus, "etcd-0")
    assert [each.status for each in found.conditions] == ["True"]
    assert await listed(cluster, "metadata.name=etcd-0") == (found,)
    with pytest.raises(ApiError, match='componentstatuses "etcd-1" not found'):
        await cluster.client.get(ComponentStatus, "etcd-1")

"""Budgets that are spent while others write them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from podling import clock
from podling.api.core_v1 import Pod
from podling.client.typed_kinds import TypedClient
from podling.machinery.errors import ApiError
from podling_kruise.podunavailablebudget.guard import TRIES, BudgetGuard
from podling_kruise.podunavailablebudget.types import DELETE, PodUnavailableBudget
from tests.support.budgets import budget, ready_pod, status_of
from tests.support.clone_sets import Kruise, kruise_api
from tests.support.sidecar_sets import create


@pytest.fixture
async def kruise() -> AsyncIterator[Kruise]:
    async with kruise_api() as found:
        await create(found, budget())
        yield found


async def allow(kruise: Kruise, number: int) -> None:
    status = {"unavailableAllowed": number, "currentAvailable": 30, "desiredAvailable": 30 - number}
    patch = {"status": {**status, "totalReplicas": 30}}
    await kruise.client.patch(PodUnavailableBudget, "web", patch, "default", subresource="status")


class Slow(TypedClient):
    """A client whose answers arrive late: others write between a read and the write that follows from it."""

    async def get(self, kind: type[Any], name: str, namespace: str | None = None) -> Any:
        found = await super().get(kind, name, namespace)
        await clock.sleep(0.01)
        return found


class Meddling(TypedClient):
    """A client beside which another writer changes a budget after each of the first reads."""

    def __init__(self, kruise: Kruise, times: int) -> None:
        super().__init__(kruise.plane.client)
        self._kruise, self.left = kruise, times

    async def get(self, kind: type[Any], name: str, namespace: str | None = None) -> Any:
        found = await super().get(kind, name, namespace)
        if kind is PodUnavailableBudget and self.left:
            self.left -= 1
            patch = {"metadata": {"annotations": {"touched": str(self.left)}}}
            await self._kruise.client.patch(kind, name, patch, namespace)
        return found


async def test_budget_that_another_writer_changes_is_read_again(kruise: Kruise) -> None:
    await allow(kruise, 1)
    pod = await ready_pod(kruise.client, "web-0")
    client = Meddling(kruise, times=3)
    await BudgetGuard(client).spend(pod, DELETE)
    assert client.left == 0
    assert (await status_of(kruise.client)).unavailable_allowed == 0


async def test_guard_gives_up_after_many_conflicts(kruise: Kruise) -> None:
    await allow(kruise, 1)
    pod = await ready_pod(kruise.client, "web-0")
    with pytest.raises(ApiError, match="couldn't update PodUnavailableBudget web due to conflicts") as failed:
        await BudgetGuard(Meddling(kruise, times=TRIES)).spend(pod, DELETE)
    assert failed.value.code == 504
    assert (await status_of(kruise.client)).unavailable_allowed == 1


async def test_guards_of_several_processes_never_spend_the_same_unit(kruise: Kruise) -> None:
    await allow(kruise, 5)
    pods: list[Pod] = [await ready_pod(kruise.client, f"web-{number}") for number in range(20)]
    guards = [BudgetGuard(Slow(kruise.plane.client)) for _ in range(4)]
    calls = (guards[number % 4].allows(pod, DELETE) for number, pod in enumerate(pods))
    assert sum(await asyncio.gather(*calls)) == 5
    found = await status_of(kruise.client)
    assert (found.unavailable_allowed, len(found.disrupted_pods)) == (0, 5)

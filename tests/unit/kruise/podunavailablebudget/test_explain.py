"""Explanations of PodUnavailableBudgets, beside an API server in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from podling.api.core_v1 import Pod
from podling.testing import running
from podling_kruise.podunavailablebudget.controller import BudgetController
from podling_kruise.podunavailablebudget.types import PodUnavailableBudget
from tests.support.budgets import budget, owner_of, ready_pod
from tests.support.clone_sets import Kruise, kruise_api
from tests.support.extension_answers import why
from tests.support.sidecar_sets import create


@pytest.fixture
async def kruise() -> AsyncIterator[Kruise]:
    async with kruise_api() as found, running(found.plane.client, BudgetController):
        yield found


async def fill(kruise: Kruise, count: int = 3, **spec: Any) -> None:
    await create(kruise, budget(**spec))
    owner = await owner_of(kruise.client, 3)
    for number in range(count):
        await ready_pod(kruise.client, f"web-{number}", owner=owner)
    await kruise.wait(1)


async def test_budget_says_how_many_pods_may_go(kruise: Kruise) -> None:
    await fill(kruise)
    answer = await why(kruise, "pub", "web")
    assert answer.healthy
    assert answer.text == (
        "Nothing is wrong: PodUnavailableBudget web: 3 of 3 pods are available, 2 must be; "
        "1 may become unavailable now."
    )


async def test_spent_budget_names_the_pod_that_it_was_spent_for(kruise: Kruise) -> None:
    await fill(kruise)
    patch = {"spec": {"containers": [{"name": "main", "image": "web:2"}]}}
    await kruise.client.patch(Pod, "web-1", patch, "default")
    answer = await why(kruise, "podunavailablebudget", "web")
    assert (answer.healthy, answer.area, answer.reason) == (False, "budget", "Spent")
    assert answer.text == "PodUnavailableBudget web allows nothing now, as it was just spent for web-1."
    assert [(each.name, each.detail) for each in answer.evidence] == [("status.unavailablePods", "web-1")]


async def test_budget_that_never_allows_anything_says_so(kruise: Kruise) -> None:
    await fill(kruise, maxUnavailable=0)
    answer = await why(kruise, "pub", "web")
    assert (answer.reason, answer.evidence[0].name) == ("NeverAllows", "spec.maxUnavailable")
    assert "never allows an operation (DELETE, UPDATE, EVICT): 3 of 3 pods" in answer.text


async def test_pod_that_is_not_available_is_named(kruise: Kruise) -> None:
    await fill(kruise, 1)
    await ready_pod(kruise.client, "web-1", status={"phase": "Pending"})
    await kruise.wait(1)
    answer = await why(kruise, "pub", "web")
    assert answer.reason == "InsufficientPods"
    assert "allows nothing: 1 of 3 pods are available, and 2 must be." in answer.text
    assert "web-1" in answer.text


async def test_budget_without_pods_says_what_to_compare(kruise: Kruise) -> None:
    await create(kruise, budget())
    await kruise.wait(1)
    answer = await why(kruise, "pub", "web")
    assert (answer.reason, answer.evidence[0].name) == ("NoPods", "spec.selector")


async def test_budget_without_a_controller_is_not_seen() -> None:
    async with kruise_api() as kruise:
        await create(kruise, budget())
        assert (await why(kruise, "pub", "web")).reason == "NotObserved"


async def test_budget_that_holds_nothing_back_is_well(kruise: Kruise) -> None:
    await fill(kruise, maxUnavailable="100%")
    answer = await why(kruise, "pub", "web")
    assert (answer.healthy, "lets every pod go" in answer.text) == (True, True)
    await kruise.client.delete(PodUnavailableBudget, "web", "default")

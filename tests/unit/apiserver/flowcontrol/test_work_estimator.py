"""Estimates of the work of requests, before their bodies are read."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import ConfigMap, ServiceAccount
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.flowcontrol.levels import Level, Levels
from podling.apiserver.flowcontrol.queues import SchemaCounts
from podling.apiserver.flowcontrol.work_estimate import ONE_SEAT, WorkEstimate
from podling.apiserver.flowcontrol.work_estimator import WorkEstimator, estimate_of_path
from podling.apiserver.kinds.flowcontrol.defaults import priority_levels
from podling.client.requests import Target
from podling.machinery.scheme import resource_of
from podling.testing import ControlPlane

MAPS = Target(resource_of(ConfigMap), "default")
BIG = Target(MAPS.resource, "default", "big")


class Arrived:
    """A request whose head has arrived; a length of None stands for a body in chunks."""

    def __init__(self, length: int | None = 0, query: str = "", *, received: int | None = None) -> None:
        self.content_length = length
        self.query_string = query
        self.query = dict(part.split("=", 1) for part in query.split("&") if part)
        self.content = self
        self._received = received

    def is_eof(self) -> bool:
        return self._received is not None

    @property
    def total_bytes(self) -> int:
        return self._received or 0


@pytest.fixture
def levels() -> Levels:
    found = Levels(245, 0.0)
    found.configure(priority_levels(), 0.0)
    return found


@pytest.fixture
def level(levels: Levels) -> Level:
    return levels.by_name["workload-low"]


def _quarter(level: Level) -> int:
    return level.queue_set.limit // 4


async def test_large_bodies_take_many_seats(cluster: ControlPlane, level: Level) -> None:
    estimator, counts = WorkEstimator(cluster.store), SchemaCounts()

    def seats(request: Arrived) -> int:
        return estimator.of_change(level, counts, "create", MAPS, request).initial_seats

    assert seats(Arrived(2000)) == 1
    assert seats(Arrived(900_000)) == _quarter(level)
    assert seats(Arrived(None)) == _quarter(level), "it may be large"
    assert seats(Arrived(None, received=100)) == 1
    assert 1 < seats(Arrived(300_000)) < _quarter(level)


async def test_small_changes_of_large_objects_take_many_seats(cluster: ControlPlane, level: Level) -> None:
    metadata = ObjectMeta(name="big", namespace="default")
    await cluster.client.create(ConfigMap(metadata=metadata, data={"a": "x" * 900_000}))
    estimator, counts = WorkEstimator(cluster.store), SchemaCounts()
    for verb in ("patch", "update"):
        assert estimator.of_change(level, counts, verb, BIG, Arrived(50)).initial_seats == _quarter(level)
    assert estimator.of_change(level, counts, "delete", BIG, Arrived(50)) is ONE_SEAT


async def test_exempt_requests_take_one_seat(cluster: ControlPlane, levels: Levels) -> None:
    estimator = WorkEstimator(cluster.store)
    exempt = levels.by_name["exempt"]
    assert estimator.of_change(exempt, SchemaCounts(), "create", MAPS, Arrived(900_000)) is ONE_SEAT


async def test_changes_take_seats_for_the_watches_they_wake(cluster: ControlPlane, level: Level) -> None:
    estimator, counts = WorkEstimator(cluster.store), SchemaCounts()
    for _ in range(30):
        estimator.watches.register(MAPS, "")
    found = estimator.of_change(level, counts, "create", MAPS, Arrived(100))
    assert found == WorkEstimate(1, 3, 0.005)
    assert counts.watchers.count == 1


async def test_tokens_of_service_accounts_wake_no_watches(cluster: ControlPlane, level: Level) -> None:
    estimator, counts = WorkEstimator(cluster.store), SchemaCounts()
    accounts = resource_of(ServiceAccount)
    for _ in range(30):
        estimator.watches.register(Target(accounts), "")
    token = Target(accounts, "default", "default", "token")
    assert estimator.of_change(level, counts, "create", token, Arrived(100)) is ONE_SEAT
    account = Target(accounts, "default")
    assert estimator.of_change(level, counts, "create", account, Arrived(100)).final_seats == 3


async def test_lists_take_seats_by_the_bytes_they_read(cluster: ControlPlane, level: Level) -> None:
    estimator = WorkEstimator(cluster.store)
    assert await estimator.of_list(level, MAPS, Arrived(), watch=False) is ONE_SEAT
    for number in range(10):
        metadata = ObjectMeta(name=f"big-{number}", namespace="default")
        await cluster.client.create(ConfigMap(metadata=metadata, data={"a": "x" * 900_000}))
    full = await estimator.of_list(level, MAPS, Arrived(), watch=False)
    assert full.initial_seats == _quarter(level)
    assert await estimator.of_list(level, MAPS, Arrived(), watch=True) != ONE_SEAT
    late = Arrived(query="resourceVersion=7")
    assert await estimator.of_list(level, MAPS, late, watch=True) is ONE_SEAT
    few = await estimator.of_list(level, MAPS, Arrived(query="limit=1"), watch=False)
    assert 1 < few.initial_seats < full.initial_seats
    wrong = Arrived(query="limit=nonsense")
    assert (await estimator.of_list(level, MAPS, wrong, watch=False)).initial_seats == _quarter(level)


def test_documents_that_are_long_to_make_take_many_seats(level: Level) -> None:
    assert estimate_of_path(level, "/version") is ONE_SEAT
    assert estimate_of_path(level, "/openapi/v2").initial_seats > 1
    assert estimate_of_path(level, "/metrics").initial_seats > 1

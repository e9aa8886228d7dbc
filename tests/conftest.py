"""Fixtures of all tests: the event loop they run on, and an in-memory cluster.

Unit tests run on the virtual-time loop: waiting costs nothing and every run is the same. Tests with
real I/O (contract and end-to-end tests, or a unit test marked
``@pytest.mark.asyncio(loop_factories=["real"])``) run on asyncio's own loop.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import pytest
import uvloop
from hypothesis import HealthCheck, settings

from podling import supervisor
from podling.cluster import garbage_collection
from podling.sim.loop import VirtualTimeLoop
from tests.support import own_network

if TYPE_CHECKING:
    from podling.testing import ControlPlane

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "virtual": VirtualTimeLoop,
    "real": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}


# The suite runs in several processes beside slow end-to-end tests: time says nothing about an example.
settings.register_profile("shared machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared machine")


def pytest_configure(config: pytest.Config) -> None:
    """Separate this process from others of the run, in which clusters have the same addresses and ports."""
    own_network.enter()
    if config.option.basetemp:
        # kubectl remembers what a server offers by the server's address.
        os.environ["KUBECACHEDIR"] = os.path.join(config.option.basetemp, "kubectl")


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Return the loops that an asynchronous test may run on."""
    marker = item.get_closest_marker("asyncio")
    if marker is not None and marker.kwargs.get("loop_factories"):
        return LOOPS
    name = "virtual" if "unit" in item.path.parts else "real"
    return {name: LOOPS[name]}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the tests of parallel runs: slow files first, so that no process ends late."""
    if hasattr(config, "workerinput"):
        items.sort(key=_turn)


def pytest_collection_finish() -> None:
    """Keep the collected tests, which stay, out of the garbage collector's sight."""
    garbage_collection.settle()


def _turn(item: pytest.Item) -> int:
    """Return when an item's file has its turn. The sort is stable, which keeps files together."""
    if "e2e" not in item.path.parts:
        return 2
    return 0 if item.get_closest_marker("slow") else 1


@pytest.fixture(autouse=True)
def no_background_failure(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test in which a background task failed: the supervisor hides it from everything else."""
    before = supervisor.failures.copy()
    yield
    if "failures_expected" not in request.fixturenames:
        assert supervisor.failures == before, f"background tasks failed: {supervisor.failures - before}"


@pytest.fixture
def failures_expected() -> None:
    """Background tasks may fail in a test that uses this."""


@pytest.fixture
async def cluster() -> AsyncIterator[ControlPlane]:
    """An API server in memory, with the objects of every new cluster."""
    from podling.testing import memory_cluster  # not needed, and not loaded, by tests of pure functions

    async with memory_cluster() as plane:
        yield plane

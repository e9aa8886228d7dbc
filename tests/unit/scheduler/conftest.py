"""Fixtures of the scheduler's stories."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from podling.api.meta_v1 import ObjectMeta
from podling.api.scheduling_v1 import PriorityClass
from podling.testing import ControlPlane
from tests.unit.scheduler.at_work import SCHEDULER, scheduler_for


@pytest.fixture
async def running(cluster: ControlPlane) -> AsyncIterator[ControlPlane]:
    """The cluster with a scheduler in it, and classes for a few priorities."""
    for value in (1, 10, 100, 1000):
        await cluster.client.create(PriorityClass(metadata=ObjectMeta(name=f"p{value}"), value=value))
    async with scheduler_for(cluster.client_for(SCHEDULER)):
        yield cluster

"""A simulated node for tests of the kubelet."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from podling.testing import ControlPlane
from tests.support.kubelet_node import SimNode, sim_node


@pytest.fixture(autouse=True)
def no_faults_of_our_own(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail a test in which the kubelet logs an internal error, which it would survive."""
    yield
    faults = [
        record.getMessage()
        for record in caplog.get_records("call")
        if record.levelno >= logging.ERROR and record.name.startswith("podling")
    ]
    assert not faults, faults


@pytest.fixture
async def node(cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[SimNode]:
    async with sim_node(cluster, tmp_path) as found:
        yield found

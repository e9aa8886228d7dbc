"""Fixtures for end-to-end tests: one real cluster per session, and fresh ones where a test breaks things."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from podling.apiserver.admission.registry import plugins_without_controllers
from tests.support.clusters import RealCluster, running_cluster
from tests.support.served_here import serving
from tests.support.wire import Caller

TOOLS = ("kubectl", "conmon", "skopeo")


def missing_for_containers() -> str:
    """Return the reason why real containers cannot run here; empty when they can."""
    if os.geteuid() != 0:
        return "needs root"
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    missing = [tool for tool in TOOLS if not shutil.which(tool, path=path)]
    if not (shutil.which("crun", path=path) or shutil.which("runc", path=path)):
        missing.append("crun or runc")
    return f"needs {', '.join(missing)}" if missing else ""


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    """A running one-node cluster on the ``oci`` runtime, shared by tests that leave it as it was."""
    if reason := missing_for_containers():
        pytest.skip(reason)
    with running_cluster(tmp_path_factory.mktemp("cluster"), "oci") as running:
        yield running


@pytest.fixture(scope="session")
def sim_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    """A running cluster whose pods are simulated: for what clients see, on every machine with kubectl."""
    with running_cluster(tmp_path_factory.mktemp("simulated"), "sim") as running:
        yield running


@pytest.fixture
def own_cluster(tmp_path: Path) -> Iterator[RealCluster]:
    """A cluster of the test's own, not yet started, to be killed and restarted at will."""
    if reason := missing_for_containers():
        pytest.skip(reason)
    fresh = RealCluster(tmp_path / "data", "oci", "--port", "0")
    try:
        yield fresh
    finally:
        fresh.remove()


@pytest.fixture
async def call() -> AsyncIterator[Caller]:
    """A client of an in-memory server without controllers, over a socket."""
    async with serving("me", plugins_without_controllers()) as (_, port):
        found = Caller(port)
        yield found
        found.wire.close()

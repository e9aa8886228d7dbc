"""The time in commands about a cluster."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from podling import clock
from podling.cli.cluster_time import in_cluster_time
from podling.cli.common_options import Failure
from podling.cluster.cluster_settings import ClusterSettings
from podling.cluster.directory import DataDirectory


async def time() -> datetime:
    return clock.now()


def test_cluster_without_a_clock_of_its_own_has_the_machine_s(tmp_path: Path) -> None:
    before = clock.now()
    inside, after = in_cluster_time(DataDirectory(tmp_path / "none"), time())
    assert before <= inside <= after <= clock.now()


def test_wound_clock_that_cannot_be_read_is_a_failure(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "cluster")
    directory.create()
    directory.remember(ClusterSettings(runtime="sim", clock="virtual"))
    with pytest.raises(Failure, match="no cluster is running"):
        in_cluster_time(directory, time())

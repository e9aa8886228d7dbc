"""The settings of a start: options first, then those of the last run."""

from __future__ import annotations

import pytest

from podling.cli.up import chosen_processes
from podling.cluster.cluster_settings import ClusterSettings


@pytest.mark.parametrize(
    ("processes", "workers", "last", "wanted"),
    [
        (None, None, ("one", 0), ("one", 0)),
        (None, None, ("several", 2), ("several", 2)),
        (None, 2, ("one", 0), ("several", 2)),
        ("several", None, ("one", 0), ("several", 0)),
        ("several", 1, ("one", 0), ("several", 1)),
        ("one", None, ("several", 2), ("one", 0)),
        (None, 0, ("several", 2), ("several", 0)),
    ],
)
def test_workers_belong_to_several_processes(
    processes: str | None, workers: int | None, last: tuple[str, int], wanted: tuple[str, int]
) -> None:
    settings = ClusterSettings(processes=last[0], api_workers=last[1])
    assert chosen_processes(processes, workers, settings) == wanted

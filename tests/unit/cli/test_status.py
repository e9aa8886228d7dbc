"""The state of a cluster that does not run."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from click.testing import CliRunner

from podling.cli.status import NOT_RUNNING, resident_mib, status
from podling.cluster.directory import DataDirectory


def test_directory_without_cluster_is_reported(tmp_path: Path) -> None:
    found = CliRunner().invoke(status, ["--data-dir", str(tmp_path)])
    assert found.exit_code == NOT_RUNNING
    assert str(tmp_path) in found.stdout
    assert "there is none; start one: podling up" in found.stdout


def test_stopped_cluster_is_reported(tmp_path: Path) -> None:
    DataDirectory(tmp_path).store.touch()
    found = CliRunner().invoke(status, ["--data-dir", str(tmp_path)])
    assert found.exit_code == NOT_RUNNING
    assert "not running; containers may be" in found.stdout


def test_resident_memory_is_at_most_the_peak() -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert 5 < resident_mib(os.getpid()) <= peak + 1

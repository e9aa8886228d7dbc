"""The command ``podling down`` where nothing runs."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from podling.cli.down import down
from podling.cluster.directory import DataDirectory


def test_missing_directory_is_no_failure_and_is_not_created(tmp_path: Path) -> None:
    missing = tmp_path / "none"
    found = CliRunner().invoke(down, ["--data-dir", str(missing)])
    assert (found.exit_code, found.stdout) == (0, f"There is no cluster at {missing}.\n")
    assert not missing.exists()


def test_stopped_cluster_without_pods_is_stopped_again(tmp_path: Path) -> None:
    DataDirectory(tmp_path).create()
    found = CliRunner().invoke(down, ["--data-dir", str(tmp_path)])
    assert (found.exit_code, found.stdout) == (0, f"Stopped 0 pods of the cluster at {tmp_path}.\n")

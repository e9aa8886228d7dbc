"""``podling record``: options and errors. The recording itself is tested with the recorder."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from podling.cli.main import main


def test_cluster_that_does_not_run_is_an_error(tmp_path: Path) -> None:
    arguments = ["record", str(tmp_path / "s.yaml"), "--data-dir", str(tmp_path / "none")]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 1
    assert "no cluster is running" in done.output
    assert not (tmp_path / "s.yaml").exists()


def test_time_is_checked_first(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["record", str(tmp_path / "s.yaml"), "--for", "soon"])
    assert done.exit_code == 2
    assert "invalid duration" in done.output

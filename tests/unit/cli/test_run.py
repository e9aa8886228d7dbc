"""The command ``podling run`` before any manifest is applied."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from podling.cli.run import Warnings, run


def test_repeated_warning_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    warn = Warnings()
    for text in ("unknown field", "deprecated", "unknown field"):
        warn(text)
    shown = capsys.readouterr()
    assert shown.err.splitlines() == ["Warning: unknown field", "Warning: deprecated"]
    assert shown.out == ""


def test_files_are_required() -> None:
    assert CliRunner().invoke(run, []).exit_code == 2


def test_running_cluster_is_required(tmp_path: Path) -> None:
    found = CliRunner().invoke(run, ["web.yaml", "--data-dir", str(tmp_path)])
    assert found.exit_code == 1
    assert "no cluster is running" in found.stderr

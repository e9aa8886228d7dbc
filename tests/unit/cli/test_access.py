"""Kubeconfig and tokens of an administrator."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from podling.cli.access import kubeconfig, parse_duration, token
from podling.cli.common_options import Failure
from podling.cluster.directory import DataDirectory


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("30m", 1800), ("12h", 43200), ("7d", 604800), ("0s", 0)]
)
def test_duration_is_converted_to_seconds(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "12", "h", "1.5h", "-1h", "1h30m", "12 h", "12H", "1w"])
def test_invalid_duration_is_refused(text: str) -> None:
    with pytest.raises(Failure, match="not a duration"):
        parse_duration(text)


def test_kubeconfig_is_printed_or_located(tmp_path: Path) -> None:
    arguments = ["--data-dir", str(tmp_path)]
    missing = CliRunner().invoke(kubeconfig, arguments)
    assert (missing.exit_code, missing.stdout) == (1, "")
    assert f"there is no cluster at {tmp_path}" in missing.stderr
    path = DataDirectory(tmp_path).kubeconfig
    path.write_text("apiVersion: v1\n")
    assert CliRunner().invoke(kubeconfig, arguments).stdout == "apiVersion: v1\n"
    assert CliRunner().invoke(kubeconfig, [*arguments, "--path"]).stdout == f"{path}\n"


def test_token_requires_a_running_cluster(tmp_path: Path) -> None:
    found = CliRunner().invoke(token, ["create", "--data-dir", str(tmp_path)])
    assert found.exit_code == 1
    assert f"no cluster is running from {tmp_path}" in found.stderr

"""The choice of the data directory."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from podling.cli.common_options import (
    ENVIRONMENT,
    Failure,
    NoAnswer,
    data_directory_option,
    default_data_directory,
    require_running,
)
from podling.cluster.directory import DataDirectory


@pytest.mark.parametrize(
    ("uid", "xdg", "path"),
    [
        (0, "/data", "/var/lib/podling"),
        (1000, "/data", "/data/podling"),
        (1000, "", "/home/me/.local/share/podling"),
        (1000, None, "/home/me/.local/share/podling"),
    ],
)
def test_default_data_directory_depends_on_the_user(
    monkeypatch: pytest.MonkeyPatch, uid: int, xdg: str | None, path: str
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    monkeypatch.setenv("HOME", "/home/me")
    if xdg is None:
        monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    else:
        monkeypatch.setenv("XDG_DATA_HOME", xdg)
    assert default_data_directory() == Path(path)


@click.command()
@data_directory_option
def show(directory: DataDirectory) -> None:
    click.echo(directory.path)


def test_option_overrides_environment(tmp_path: Path) -> None:
    environment = {ENVIRONMENT: str(tmp_path / "a")}
    assert CliRunner().invoke(show, [], env=environment).stdout == f"{tmp_path / 'a'}\n"
    chosen = ["--data-dir", str(tmp_path / "b")]
    assert CliRunner().invoke(show, chosen, env=environment).stdout == f"{tmp_path / 'b'}\n"


def test_empty_data_directory_is_wrong_usage() -> None:
    found = CliRunner().invoke(show, ["--data-dir", ""])
    assert found.exit_code == 2
    assert "names no directory" in found.stderr


@pytest.mark.parametrize(("failure", "code"), [(Failure, 1), (NoAnswer, 3)])
def test_command_without_running_cluster_fails(tmp_path: Path, failure: type[Failure], code: int) -> None:
    with pytest.raises(failure, match="no cluster is running") as caught:
        require_running(DataDirectory(tmp_path), failure)
    assert caught.value.exit_code == code

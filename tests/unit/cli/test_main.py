"""The command ``podling`` and the list of its commands."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from podling.cli.main import COMMANDS, main


@pytest.mark.parametrize("name", COMMANDS)
def test_command_has_help(name: str) -> None:
    found = CliRunner().invoke(main, [name, "--help"])
    assert found.exit_code == 0, found.output
    assert found.stdout.startswith(f"Usage: main {name} ")


def test_help_lists_every_command() -> None:
    text = CliRunner().invoke(main, ["-h"]).stdout
    context = click.Context(main)
    assert main.list_commands(context) == list(COMMANDS)
    for name, (_, _, line) in COMMANDS.items():
        assert f"  {name} " in text
        assert line.split()[0] in text


def test_unknown_command_is_wrong_usage() -> None:
    found = CliRunner().invoke(main, ["explode"])
    assert found.exit_code == 2
    assert "No such command 'explode'" in found.stderr


def test_unusable_data_directory_is_one_line(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("")
    found = CliRunner().invoke(main, ["image", "list", "--data-dir", str(place)])
    assert found.exit_code == 1
    assert found.stderr.startswith("Error: ")
    assert len(found.stderr.splitlines()) == 1

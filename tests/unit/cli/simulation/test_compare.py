"""``podling compare``."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from podling.cli.main import main

CREATED = '{"at": 0, "event": "created", "object": "pods/default/a", "phase": "Pending"}\n'
FAILED = '{"at": 5, "event": "modified", "object": "pods/default/a", "phase": "Failed"}\n'


def compare(folder: Path, one: str, other: str) -> Result:
    (folder / "1").write_text(one)
    (folder / "2").write_text(other)
    return CliRunner().invoke(main, ["compare", str(folder / "1"), str(folder / "2")])


@pytest.mark.parametrize(
    ("one", "other", "code", "text"),
    [
        (CREATED, CREATED, 0, "the same stages in the same order: 1 pods\n"),
        (CREATED, CREATED + FAILED, 1, "+ unbound phase=Failed\n"),
        (CREATED, "", 1, "pods/default/a: only in the first\n1 of 1 pods differ\n"),
        ("[]\n", CREATED, 2, "/1:1:1: a line must be a JSON object\n"),
        (CREATED, "{", 2, "/2:1:1: Input data was truncated\n"),
    ],
)
def test_difference_is_shown(tmp_path: Path, one: str, other: str, code: int, text: str) -> None:
    done = compare(tmp_path, one, other)
    assert done.exit_code == code
    assert text in done.output


def test_missing_log_is_named(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["compare", str(tmp_path / "none"), str(tmp_path / "none")])
    assert (done.exit_code, done.output) == (2, f"{tmp_path / 'none'}: No such file or directory\n")

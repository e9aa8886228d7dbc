"""The command with which Podling starts itself again, beside files with the names of Python's modules."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import podling
from podling.cli.starting.own_command import environment_with

CODE = Path("/code/src")
PODLING = Path(sys.executable).with_name("podling")
SHADOWS = ("operator", "types", "json", "logging", "queue")
"""Modules of Python with whose names programs like to name their files."""


@pytest.mark.parametrize(
    ("path", "is_safe", "before", "after"),
    [
        (["/venv/bin", "/lib", "/code/src"], False, None, None),
        (["/code/src", "/lib"], False, None, "/code/src"),
        (["/code/src", "/lib"], False, "/user", "/user:/code/src"),
        (["/code/src", "/lib", "/code/src"], False, None, None),
        (["/code/src", "/lib"], True, "/code/src", "/code/src"),
        ([], False, None, None),
    ],
)
def test_code_that_only_the_first_folder_has_is_named(
    path: Sequence[str], is_safe: bool, before: str | None, after: str | None
) -> None:
    environment = {} if before is None else {"PYTHONPATH": before}
    assert environment_with(environment, CODE, path, is_safe=is_safe).get("PYTHONPATH") == after


def test_empty_entry_is_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert environment_with({}, tmp_path, ["", "/lib"], is_safe=False) == {"PYTHONPATH": str(tmp_path)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder whose files end any process that imports them."""
    found = tmp_path / "operators"
    found.mkdir()
    for name in SHADOWS:
        (found / f"{name}.py").write_text(f"raise SystemExit('{name}.py of the user was imported')\n")
    return found


def run(folder: Path, *command: str, **environment: str) -> str:
    """Run a command in the folder; return what it prints on both streams."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


CLUSTER = ("--runtime", "sim", "--clock", "virtual", "--port", "0", "--detach")


@pytest.mark.slow
def test_cluster_starts_beside_files_named_as_modules_of_python(folder: Path, tmp_path: Path) -> None:
    place = ("--data-dir", str(tmp_path / "data"))
    try:
        run(folder, str(PODLING), "up", *CLUSTER, *place)
        assert "Ready" in run(folder, str(PODLING), "status", *place)
    finally:
        run(folder, str(PODLING), "down", *place)


@pytest.mark.slow
def test_cluster_starts_from_a_folder_of_sources(tmp_path: Path) -> None:
    """The code is found through the current folder alone: a link, so that no installation leads there."""
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "podling").symlink_to(Path(podling.__file__).parent)
    packages = [each for each in sys.path if each.endswith("-packages")]
    python = [str(Path(sys.executable).resolve()), "-m", "podling"]
    place = ("--data-dir", str(tmp_path / "data"))
    bare = {"PYTHONPATH": os.pathsep.join(packages)}
    try:
        run(sources, *python, "up", *CLUSTER, *place, **bare)
    finally:
        run(sources, *python, "down", *place, **bare)


def test_envtest_programs_run_beside_files_named_as_modules_of_python(folder: Path, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    run(folder, str(PODLING), "envtest", str(programs))
    with subprocess.Popen(
        [programs / "kube-apiserver", "--nonsense"], cwd=folder, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        process.terminate()
    assert "--nonsense is not supported" in first

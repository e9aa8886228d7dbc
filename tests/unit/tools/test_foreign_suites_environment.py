"""Sources and pins of foreign suites: a commit is taken from a clone, and requirements are locked."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from podling.testing.settings import settings_from
from tools.foreign_suites.__main__ import cluster_settings
from tools.foreign_suites.environment import HERE, unpack_source
from tools.foreign_suites.suites import SUITES, Suite


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    return subprocess.check_output(["git", "-C", str(folder), *identity, *arguments], text=True).strip()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = tmp_path / "clone"
    (folder / "e2e").mkdir(parents=True)
    (folder / "e2e" / "test_a.py").write_text("pinned")
    (folder / "other.py").write_text("")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def test_the_pinned_commit_is_taken_and_nothing_beside_the_paths(clone: Path, tmp_path: Path) -> None:
    suite = Suite("a", git(clone, "rev-parse", "HEAD"), repository="owner/a", paths=("e2e",))
    (clone / "e2e" / "test_a.py").write_text("changed")
    git(clone, "commit", "-q", "-a", "-m", "second")
    source = unpack_source(suite, tmp_path / "work", clone)
    assert [path.relative_to(source).as_posix() for path in source.rglob("*.py")] == ["e2e/test_a.py"]
    assert (source / "e2e" / "test_a.py").read_text() == "pinned"
    assert unpack_source(suite, tmp_path / "work", None) == source, "what is there needs no clone"


def test_an_unknown_commit_leaves_nothing_behind(clone: Path, tmp_path: Path) -> None:
    suite = Suite("a", "0" * 40, repository="owner/a", paths=("e2e",))
    with pytest.raises(subprocess.CalledProcessError):
        unpack_source(suite, tmp_path / "work", clone)
    assert not (tmp_path / "work" / "sources" / f"a-{'0' * 40}").exists()


def test_suite_in_repository_requires_clone(tmp_path: Path) -> None:
    suite = Suite("a", "0" * 40, repository="owner/a", paths=("e2e",))
    with pytest.raises(ValueError, match="--source a=CLONE"):
        unpack_source(suite, tmp_path, None)


@pytest.mark.parametrize("suite", [suite for suite in SUITES if not suite.node], ids=lambda suite: suite.name)
def test_every_suite_of_python_has_locked_requirements(suite: Suite) -> None:
    wanted = (HERE / "requirements" / f"{suite.name}.in").read_text()
    locked = (HERE / "requirements" / f"{suite.name}.txt").read_text()
    assert "pytest" in wanted
    assert all("==" in line for line in locked.splitlines() if line and not line.startswith("#"))
    if not suite.repository:
        assert f"{suite.name}=={suite.version}" in wanted.splitlines()
        assert f"{suite.name}=={suite.version} " in locked


@pytest.mark.parametrize(("clock", "seconds"), [("running", 7), ("60x", 420)])
def test_simulated_programs_work_as_long_in_the_time_of_the_machine(clock: str, seconds: float) -> None:
    suite = Suite("a", "1", simulated={"*/job/*": {"startSeconds": 2, "seconds": 7, "exitCode": 1}})
    settings = cluster_settings(suite, clock)
    script = {"startSeconds": 2, "runs": [{"seconds": seconds, "exitCode": 1}]}
    assert settings == {"clock": clock, "runtime": {"containers": {"*/job/*": script}}}
    assert settings_from(settings).clock == clock


def test_all_else_that_a_script_says_reaches_the_cluster() -> None:
    script = {"startSeconds": 2, "exec": [{"command": "python3", "stdout": "302"}]}
    settings = cluster_settings(Suite("a", "1", simulated={"*": script}), "60x")
    assert settings["runtime"] == {"containers": {"*": script}}

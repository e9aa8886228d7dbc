"""``podling sim --at --shell``: shells in which clients find the stopped cluster."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from podling.cli.main import main
from tests.support.scenarios import web

SCENARIO = f"until: 5m\nnodes: [{{name: n}}]\nmanifests: [{web(1)}]\n"


def sim(folder: Path, *options: str, shell: str = "/bin/true") -> Result:
    path = folder / "s.yaml"
    path.write_text(SCENARIO)
    return CliRunner(env={"SHELL": shell}).invoke(main, ["sim", str(path), *options])


def script(folder: Path, text: str) -> str:
    path = folder / "shell"
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def test_podling_finds_the_cluster_and_its_time(tmp_path: Path) -> None:
    answer = tmp_path / "answer"
    text = f"""#!{sys.executable}
import sys
from podling.cli.main import main
sys.stdout = open({str(answer)!r}, "w")
main(["why", "deployment/web"])
"""
    done = sim(tmp_path, "--at", "1m", "--shell", shell=script(tmp_path, text))
    assert done.exit_code == 0, done.output
    assert "the cluster stands at 1m0s" in done.stderr
    assert "1m0s of virtual time" in done.stdout
    assert answer.read_text().startswith("Nothing is wrong: Deployment web")


@pytest.mark.parametrize(
    ("options", "stops", "end"),
    [
        (("--at", "1m"), ["1m0s"], "1m0s"),
        (("--at", "1m", "--step", "2m"), ["1m0s", "3m0s", "5m0s"], "5m0s"),
        (("--at", "1m", "--until", "2m"), ["1m0s"], "2m0s"),
    ],
)
def test_run_stops_and_goes_on(tmp_path: Path, options: tuple[str, ...], stops: list[str], end: str) -> None:
    done = sim(tmp_path, *options, "--shell")
    assert done.exit_code == 0, done.output
    assert [line.split("stands at ")[1].split(";")[0] for line in done.stderr.splitlines()] == stops
    assert f"{end} of virtual time" in done.stdout


def test_shell_that_fails_is_the_last(tmp_path: Path) -> None:
    done = sim(tmp_path, "--at", "1m", "--step", "1m", "--shell", shell="/bin/false")
    assert done.stderr.count("stands at") == 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--shell",), "--shell and --step need --at"),
        (("--at", "1m"), "--at needs --shell"),
        (("--at", "1h", "--shell"), "the scenario ends before, at 5m0s"),
        (("--at", "soon", "--shell"), "invalid duration"),
        (("--at", "1m", "--shell", "--seeds", "1..2"), "--at stops one run"),
    ],
)
def test_other_moments_are_refused(tmp_path: Path, options: tuple[str, ...], problem: str) -> None:
    done = sim(tmp_path, *options)
    assert done.exit_code == 2
    assert problem in done.output

"""``podling sim``: options, exit codes and output."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from os import mkfifo
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from podling.cli.main import main

GOOD = "until: 30s\nnodes: [{name: n}]\n"
FALSE = GOOD + "assertions: [{name: two nodes, atTheEnd: {count: {kind: Node, equals: 2}}}]\n"


def sim(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["sim", *arguments])


def file(folder: Path, text: str) -> str:
    path = folder / "s.yaml"
    path.write_text(text)
    return str(path)


def test_schema_is_json() -> None:
    assert json.loads(sim("--schema").output)["title"] == "Podling scenario"


def test_check_reads_only(tmp_path: Path) -> None:
    path = file(tmp_path, GOOD)
    assert sim(path, "--check").output == f"{path}: the scenario is usable\n"


def test_problems_have_their_place_and_an_exit_code_of_their_own(tmp_path: Path) -> None:
    path = file(tmp_path, "until: 5m\nnodes: 3\n")
    done = sim(path, "--check")
    assert (done.exit_code, done.output) == (2, f"{path}:2:1: Expected `array`, got `int`\n")


def test_last_line_is_the_digest_of_the_log(tmp_path: Path) -> None:
    import hashlib

    log = tmp_path / "log.jsonl"
    done = sim(file(tmp_path, GOOD), "--log", str(log))
    assert done.exit_code == 0, done.output
    digest = hashlib.sha256(log.read_bytes()).hexdigest()
    assert done.output.splitlines()[-1] == f"digest: {digest}"


def test_failed_assertion_ends_with_one_and_the_line_that_replays_it(tmp_path: Path) -> None:
    path = file(tmp_path, FALSE)
    done = sim(path, "--seed", "4")
    assert done.exit_code == 1
    assert "FAIL two nodes: did not hold at the end:\n    1 nodes; wanted 2" in done.output
    assert f"replay: podling sim {path} --seed 4\n" in done.output


@pytest.mark.parametrize(("text", "code", "line"), [(GOOD, 0, "2 of 2"), (FALSE, 1, "0 of 2")])
def test_many_seeds_are_counted(tmp_path: Path, text: str, code: int, line: str) -> None:
    done = sim(file(tmp_path, text), "--seeds", "1..2", "--shrink-seconds", "0")
    assert done.exit_code == code
    assert done.output.splitlines()[-1] == f"{line} seeds passed"


def test_scenario_that_is_not_there_cannot_run(tmp_path: Path) -> None:
    done = sim(str(tmp_path / "gone.yaml"))
    assert (done.exit_code, done.output) == (2, f"{tmp_path}/gone.yaml: No such file or directory\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing argument 'SCENARIO'"),
        (("FILE", "--until", "5q"), "unknown unit"),
        (("FILE", "--until", "0"), "a scenario lasts at least one second"),
        (("FILE", "--until=-5m"), "the duration -5m is negative"),
        (("FILE", "--seeds", "5..1"), "has no seeds"),
    ],
)
def test_wrong_use_is_an_error(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    path = file(tmp_path, GOOD)
    done = sim(*(path if each == "FILE" else each for each in arguments))
    assert done.exit_code != 0
    assert message in done.output


def test_report_of_several_seeds_is_refused(tmp_path: Path) -> None:
    done = sim(file(tmp_path, GOOD), "--seeds", "1..2", "--report", str(tmp_path / "r"))
    assert done.exit_code == 2
    assert "--report shows one run" in done.output


def test_report_needs_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podling.cli.simulation.sim.missing", lambda: "install it")
    done = sim(file(tmp_path, GOOD), "--report", str(tmp_path / "r"))
    assert (done.exit_code, done.output) == (1, "Error: install it\n")
    assert not (tmp_path / "r").exists()


def test_report_has_the_event_log(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra 'report' is not installed")
    log, report = tmp_path / "log.jsonl", tmp_path / "r"
    done = sim(file(tmp_path, FALSE), "--report", str(report), "--log", str(log))
    assert done.exit_code == 1
    assert f"report: {report / 'index.html'}" in done.stderr
    assert (report / "events.jsonl").read_bytes() == log.read_bytes()
    assert "Failed: two nodes" in (report / "index.html").read_text()


def test_report_where_no_folder_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podling.cli.simulation.sim.missing", lambda: "")
    path = file(tmp_path, GOOD)
    done = sim(path, "--report", f"{path}/r")
    assert (done.exit_code, done.output) == (1, f"Error: {path}/r: Not a directory\n")


def test_interrupted_run_reports_what_was_until_then(tmp_path: Path) -> None:
    # The first line of the log appears when the run has begun; the scenario itself would take hours.
    path = file(
        tmp_path, "until: 80000h\nnodes: [{name: n, count: 5}]\nfaults: {count: 1000, before: 79000h}\n"
    )
    log = tmp_path / "log"
    mkfifo(log)
    command = [sys.executable, "-m", "podling", "sim", path, "--quiet", "--log", str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        with log.open("rb") as lines:
            assert lines.readline()
            process.send_signal(signal.SIGINT)
            while lines.read(1 << 16):
                pass
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    first, *_, last = out.splitlines()
    assert first.endswith("(interrupted)")
    assert "of virtual time" in first
    assert " -" not in first
    assert last.startswith("digest: ")
    assert "Traceback" not in err

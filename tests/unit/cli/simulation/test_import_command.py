"""``podling sim import``: formats, files and errors."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from podling.cli.main import main

POD = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}\n"
MACHINES = "m_1,0,1,a,96,100,USING\n"


def run(*arguments: str, text: str = "") -> Result:
    return CliRunner().invoke(main, ["sim", "import", *arguments], input=text)


def test_imported_scenario_runs(tmp_path: Path) -> None:
    path = tmp_path / "made.yaml"
    done = run("-", "-o", str(path), text=POD)
    assert done.exit_code == 0, done.output
    assert f"wrote {path}; run it: podling sim {path}" in done.stderr
    played = CliRunner().invoke(main, ["sim", str(path), "--until", "1m"])
    assert played.exit_code == 0
    assert "pods: 1 Running" in played.output


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("cluster.yaml", POD, "kind: Pod"),
        ("machine_meta.csv", MACHINES, "Alibaba's"),
        ("machine_events.csv", "0,5,0,x,0.5,0.2\n", "Google's"),
        ("machine_events/part-00000-of-00001.csv", "0,5,0,x,0.5,0.2\n", "Google's"),
        ("audit.log", '{"apiVersion":"audit.k8s.io/v1","stage":"RequestReceived"}\n', "audit log"),
    ],
)
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_format_is_found_by_name_and_content(
    tmp_path: Path, name: str, text: str, words: str, ending: str
) -> None:
    path = tmp_path / (name + ending)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if ending else text.encode())
    done = run(str(path))
    assert done.exit_code == 0, done.output
    assert words in done.stdout


@pytest.mark.parametrize(
    ("arguments", "text", "code", "problem"),
    [
        (("-",), "a: [", 2, "-:2:1: did not find expected node content"),
        (
            ("-", "--format", "google"),
            "",
            2,
            "-:1:1: the name is that of no table; there are: machine_events",
        ),
        (("/nonexistent",), "", 1, "Error: /nonexistent: No such file or directory"),
        (("-", "--length", "soon"), POD, 2, "invalid duration"),
        (("-", "--machine-memory", "lots"), POD, 2, "Invalid value for '--machine-memory'"),
        (("-", "-o", "/nonexistent/x"), POD, 1, "Error: /nonexistent/x: No such file or directory"),
    ],
)
def test_problems_are_said(arguments: tuple[str, ...], text: str, code: int, problem: str) -> None:
    done = run(*arguments, text=text)
    assert done.exit_code == code
    assert problem in done.output

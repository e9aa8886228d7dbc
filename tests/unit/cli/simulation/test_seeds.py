"""``podling sim --seeds``: failures, the smallest scenario, and interruptions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import podling
from podling.cli.main import main
from podling.cli.simulation.seeds import print_seeds, version
from podling.sim.runner import Outcome

FALSE = """
until: 30s
nodes: [{name: n, count: 2}]
manifests: [{objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}]}]
assertions: [{name: three nodes, atTheEnd: {count: {kind: Node, equals: 3}}}]
"""


def outcome(seed: int, *, is_complete: bool = True) -> Outcome:
    return Outcome(seed, "", 0, 1.0, is_complete, (), (), ())


def test_first_failure_is_shrunk_to_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(FALSE)
    done = CliRunner().invoke(main, ["sim", "s.yaml", "--seeds", "4..5"])
    assert done.exit_code == 1
    assert "replay: podling sim s.yaml --seed 4\n" in done.output
    assert "0 of 2 seeds passed\n" in done.output
    assert "smallest scenario that fails so: s-4-smallest.yaml (0 objects, 0 actions, 1s)" in done.output
    text = Path("s-4-smallest.yaml").read_text()
    assert text.startswith(f"# Fails as s.yaml does with seed 4 ({version()}).\n# three nodes: ")
    again = CliRunner().invoke(main, ["sim", "s-4-smallest.yaml"])
    assert again.exit_code == 1
    assert "FAIL three nodes" in again.output


def test_shrinking_can_be_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(FALSE)
    done = CliRunner().invoke(main, ["sim", "s.yaml", "--seeds", "4", "--shrink-seconds", "0"])
    assert done.exit_code == 1
    assert [path.name for path in tmp_path.iterdir()] == ["s.yaml"]


def interrupted() -> Iterator[Outcome]:
    yield outcome(1)
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("outcomes", "line"),
    [
        (iter([outcome(1), outcome(2), outcome(3)]), "3 of 3 seeds passed\n"),
        (interrupted(), "1 of 1 seeds passed (interrupted; 2 did not run)\n"),
        (
            iter([outcome(1), outcome(2, is_complete=False)]),
            "1 of 1 seeds passed (interrupted; 2 did not run)\n",
        ),
    ],
)
def test_interruption_reports_what_was(
    outcomes: Iterator[Outcome], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = print_seeds(Path("s.yaml"), outcomes, 3)
    assert capsys.readouterr().out == line
    assert tally.is_interrupted == ("interrupted" in line)


def test_version_begins_with_the_packages() -> None:
    assert version().startswith(f"podling {podling.__version__}")

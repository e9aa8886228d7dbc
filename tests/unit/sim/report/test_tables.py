"""The tables of a run."""

from __future__ import annotations

import csv
from pathlib import Path

import msgspec

from podling.sim.report.tables import csv_text, json_lines, tables, write_tables
from tests.support.reports import finished_run


def test_every_row_of_a_table_has_the_same_columns() -> None:
    for name, rows in tables(finished_run()).items():
        assert len({tuple(row) for row in rows}) <= 1, name


def test_tables_have_what_happened() -> None:
    found = tables(finished_run())
    assert {row["state"] for row in found["nodes"]} == {"Ready", "NotReady"}
    assert found["samples"][-1]["running"] == 4
    assert min(row["headroom"] for row in found["budgets"]) < 0  # type: ignore[type-var, operator]
    assert [row["passed"] for row in found["assertions"]] == [True, False]
    assert found["violations"] == []
    for row in found["pods"]:
        assert row["bound"] is None or row["scheduling_seconds"] >= 0  # type: ignore[operator]


def test_text_with_commas_and_lines_survives() -> None:
    rows = [{"a": 'one, "two"\nthree', "b": None}]
    assert list(csv.DictReader(csv_text(rows).splitlines(keepends=True))) == [
        {"a": 'one, "two"\nthree', "b": ""}
    ]
    assert msgspec.json.decode(json_lines(rows)) == rows[0]
    assert csv_text([]) == ""


def test_files_hold_the_same_rows(tmp_path: Path) -> None:
    names = write_tables(finished_run(), tmp_path)
    assert sorted(names) == sorted(each.name for each in tmp_path.iterdir())
    for name, rows in tables(finished_run()).items():
        lines = (tmp_path / f"{name}.jsonl").read_bytes().splitlines()
        assert [msgspec.json.decode(line) for line in lines] == msgspec.to_builtins(rows)
        with (tmp_path / f"{name}.csv").open(newline="") as text:
            assert len(list(csv.DictReader(text))) == len(rows)

"""Writes the report of a run into a folder: page, tables, and the event log that is there already."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from podling.sim.report.page import page
from podling.sim.report.report_data import ReportData
from podling.sim.report.tables import write_tables

PAGE, LOG = "index.html", "events.jsonl"
MISSING = "a report needs matplotlib; install it: pip install 'podling[report]'"


def missing() -> str:
    """Return what must be installed for a report; empty if nothing is missing."""
    return "" if importlib.util.find_spec("matplotlib") is not None else MISSING


def write_report(data: ReportData, folder: Path) -> Path:
    """Write the report of a run and return the page's path. Raises ``OSError``."""
    from podling.sim.report.plots import plots

    folder.mkdir(parents=True, exist_ok=True)
    files = write_tables(data, folder)
    if (folder / LOG).exists():
        files.append(LOG)
    path = folder / PAGE
    path.write_text(page(data, plots(data), files))
    return path

"""Writing a report into a folder."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from podling.sim.report import report
from tests.support.reports import finished_run


def test_folder_gets_page_and_tables(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra 'report' is not installed")
    folder = tmp_path / "new" / "report"
    path = report.write_report(finished_run(), folder)
    text = path.read_text()
    assert text.count("<svg") == 7
    for file in folder.iterdir():
        assert file == path or f'href="{file.name}"' in text
    assert report.LOG not in text
    (folder / report.LOG).touch()
    assert f'href="{report.LOG}"' in report.write_report(finished_run(), folder).read_text()


@pytest.mark.parametrize(("found", "text"), [(None, report.MISSING), (object(), "")])
def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, found: object, text: str) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: found)
    assert report.missing() == text

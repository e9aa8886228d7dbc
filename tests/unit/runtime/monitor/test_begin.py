"""Files and reports of a starting monitor."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from podling.runtime.monitor.begin import claim, report, sign, write_whole
from podling.runtime.process import claims


def test_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "started.json"
    write_whole(str(path), {"pid": 1})
    before = path.stat().st_ino
    write_whole(str(path), {"pid": 2})
    assert json.loads(path.read_text()) == {"pid": 2}
    assert path.stat().st_ino != before
    assert [each.name for each in tmp_path.iterdir()] == ["started.json"]


def test_file_that_cannot_be_encoded_keeps_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "exit.json"
    write_whole(str(path), {"code": 0})
    with pytest.raises(TypeError):
        write_whole(str(path), {"code": object()})
    assert json.loads(path.read_text()) == {"code": 0}


def test_report_ends_with_its_descriptor() -> None:
    reading, writing = os.pipe()
    report(writing, {"pid": 7})
    with os.fdopen(reading) as file:
        assert json.loads(file.read()) == {"pid": 7}


def test_report_without_reader_is_dropped() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    report(writing, {"pid": 7})
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(writing)


def test_permit_becomes_a_claim_that_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    permit = claims.permit_start(tmp_path)
    claimed = claim(permit)
    assert claimed is not None
    sign(claimed)
    assert [each.name for each in tmp_path.iterdir()] == ["claimed"]
    assert claims.is_claimed(tmp_path)
    assert claims.claimant(tmp_path) == os.getpid()
    os.close(claimed)
    assert not claims.is_claimed(tmp_path)


def test_revoked_permit_claims_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    revoked = claims.permit_start(tmp_path)
    claims.revoke_permits(tmp_path)
    permit = claims.permit_start(tmp_path)
    assert claim(revoked) is None
    assert [each.name for each in tmp_path.iterdir()] == [permit]

"""Comparison of recorded requests: each difference is found, and generated values must correspond."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from tools.recorded_requests.__main__ import main
from tools.recorded_requests.comparison import differences
from tools.recorded_requests.recording import About, Entry, read_about, read_entries, writing

ABOUT = About("abc", datetime(2026, 1, 1, tzinfo=UTC), ["127.0.0.1:1"], {"a": 2})
ONE = Entry("a: one", "POST", "/x", (("Accept", "*/*"),), b"in", 201, "Created", (("A", "b"),), b'{"a":1}')


def revision(key: str, number: int) -> Entry:
    return replace(ONE, key=key, body=f'{{"resourceVersion":"{number}"}}'.encode())


@pytest.fixture
def found(tmp_path: Path) -> Compared:
    return Compared(tmp_path)


class Compared:
    """Compares two sequences of entries as recordings."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, before: Sequence[Entry], after: Sequence[Entry]) -> list[str]:
        return [
            each.key for each in differences(self.recording("before", before), self.recording("after", after))
        ]

    def recording(self, name: str, entries: Sequence[Entry]) -> Path:
        with writing(self._folder / name) as writer:
            for each in entries:
                writer.write(each)
            writer.finish(ABOUT)
        return self._folder / name


def test_recording_is_read_as_it_was_written(found: Compared) -> None:
    entries = [ONE, replace(ONE, key="a: two", body=b"\xff\0", status=0, reason="", headers=())]
    path = found.recording("one", entries)
    read = [
        replace(each, headers=tuple(each.headers), request_headers=tuple(each.request_headers))
        for each in read_entries(path)
    ]
    assert read == entries
    assert read_about(path) == ABOUT


def test_incomplete_recording_is_refused(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.write(ONE)
    with pytest.raises(FileNotFoundError):
        list(differences(tmp_path, tmp_path))


@pytest.mark.parametrize(
    "other",
    [
        replace(ONE, status=200),
        replace(ONE, reason="OK"),
        replace(ONE, headers=(("a", "b"),)),
        replace(ONE, body=b'{"a": 1}'),
        replace(ONE, body=b""),
        replace(ONE, target="/y"),
        replace(ONE, request_body=b"other"),
    ],
)
def test_each_part_of_an_answer_is_compared(found: Compared, other: Entry) -> None:
    assert found([ONE], [ONE]) == []
    assert found([ONE], [other]) == ["a: one"]


def managed(*managers: str) -> Entry:
    """Return an answer with an object and an error that quotes the object."""
    entries = [
        {"manager": each, "fieldsV1": {"f:a": {'k:{"type":"x"}': {}, 'v:["y"]': {}}}} for each in managers
    ]
    plain = json.dumps({"metadata": {"managedFields": entries, "name": "a"}}, separators=(",", ":"))
    return replace(ONE, body=json.dumps({"object": json.loads(plain), "message": plain}).encode())


def test_order_of_managed_fields_is_not_compared(found: Compared) -> None:
    assert found([managed("one", "two", "three")], [managed("two", "three", "one")]) == []
    assert found([managed("one", "two")], [managed("one", "three")]) == ["a: one"]
    assert found([managed("one", "two")], [managed("one")]) == ["a: one"]


def test_order_of_other_lists_is_compared(found: Compared) -> None:
    one, other = (
        replace(ONE, body=body) for body in (b'{"finalizers":["a","b"]}', b'{"finalizers":["b","a"]}')
    )
    assert found([one], [other]) == ["a: one"]


def test_request_of_one_recording_only_is_a_difference(found: Compared) -> None:
    two = replace(ONE, key="a: two")
    assert found([ONE, two], [ONE]) == ["a: two"]
    assert found([ONE], [ONE, two]) == ["a: two"]


def test_generated_values_must_correspond(found: Compared) -> None:
    before = [revision("a: one", 5), revision("a: two", 5), revision("a: three", 6)]
    assert found(before, [revision("a: one", 8), revision("a: two", 8), revision("a: three", 9)]) == []
    assert found(before, [revision("a: one", 8), revision("a: two", 9), revision("a: three", 10)]) == [
        "a: two"
    ]
    assert found(before, [revision("a: one", 8), revision("a: two", 8), revision("a: three", 8)]) == [
        "a: three"
    ]


def test_command_fails_when_recordings_differ(found: Compared) -> None:
    before = str(found.recording("before", [ONE]))
    after = str(found.recording("after", [replace(ONE, status=500)]))
    assert CliRunner().invoke(main, ["compare", before, before]).exit_code == 0
    failed = CliRunner().invoke(main, ["compare", before, after])
    assert failed.exit_code == 1
    assert "a: one" in failed.output

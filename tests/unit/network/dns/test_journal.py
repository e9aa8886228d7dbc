"""The journal: frames come back in their order, also after a sudden end."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.network.dns.journal import SLACK_BYTES, Journal
from podling.network.dns.messages import Begin, Complete, Namespaces, frame, to_server


def messages(journal: Journal) -> list[object]:
    return [to_server.decode(data) for data in journal.frames()]


def rewrite(journal: Journal, frames: list[bytes]) -> None:
    for _ in journal.rewriting(frames):
        pass


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def test_new_journal_is_empty(path: Path) -> None:
    assert messages(Journal(str(path))) == []


def test_appended_frames_follow_those_it_began_with(path: Path) -> None:
    journal = Journal(str(path))
    rewrite(journal, [frame(Begin())])
    journal.append(frame(Namespaces(("a",))))
    journal.append(frame(Complete()))
    journal.close()
    assert messages(Journal(str(path))) == [Begin(), Namespaces(("a",)), Complete()]


@pytest.mark.parametrize("cut", [1, 3, 5])
def test_unfinished_frame_is_ignored(path: Path, cut: int) -> None:
    path.write_bytes(frame(Namespaces(("a",))) + frame(Complete())[:-cut])
    assert messages(Journal(str(path))) == [Namespaces(("a",))]


def test_journal_of_something_else_is_ignored(path: Path) -> None:
    path.write_bytes(b"\xff" * 100)
    assert messages(Journal(str(path))) == []


def test_interrupted_rewriting_leaves_the_earlier_journal(path: Path) -> None:
    journal = Journal(str(path))
    rewrite(journal, [frame(Begin())])
    steps = journal.rewriting([frame(Complete()), frame(Complete())])
    next(steps)
    assert messages(Journal(str(path))) == [Begin()]
    steps.close()
    journal.append(frame(Namespaces(("a",))))
    journal.close()
    assert messages(Journal(str(path))) == [Begin(), Namespaces(("a",))]


def test_journal_becomes_too_long(path: Path) -> None:
    journal = Journal(str(path))
    rewrite(journal, [])
    lengths = []
    while path.stat().st_size <= SLACK_BYTES:
        lengths.append(journal.is_long)
        journal.append(frame(Namespaces(("x" * 1000,) * 100)))
    lengths.append(journal.is_long)
    rewrite(journal, [frame(Complete())])
    lengths.append(journal.is_long)
    assert lengths == [False] * (len(lengths) - 2) + [True, False]
    assert messages(journal) == [Complete()]
    journal.close()

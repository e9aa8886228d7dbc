"""Heads of the messages between the server and its worker processes."""

from __future__ import annotations

import pytest

from podling.apiserver.compute import frames
from podling.apiserver.compute.frames import Garbage, Outcome
from tests.support import compute_jobs


def test_heads_are_read_as_they_were_written() -> None:
    assert frames.read_request_head(frames.request_head(b"name", 70_000)) == (4, 70_000)
    found = frames.read_reply_head(frames.reply_head(Outcome.FAILED, 5))
    assert (found.outcome, found.length) == (Outcome.FAILED, 5)


@pytest.mark.parametrize("head", [b"\x09\0\0\0\x01", b"\0\xff\xff\xff\xff"])
def test_unknown_outcomes_and_great_lengths_are_garbage(head: bytes) -> None:
    with pytest.raises(Garbage):
        frames.read_reply_head(head)


def test_great_requests_are_garbage() -> None:
    with pytest.raises(Garbage):
        frames.read_request_head(b"\0\x04\xff\xff\xff\xff")


def test_functions_are_named_by_module() -> None:
    assert frames.name_of(compute_jobs.echo) == "tests.support.compute_jobs:echo"

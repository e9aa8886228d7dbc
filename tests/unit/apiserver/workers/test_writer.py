"""The revision that a read has to wait for, by its query."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl

import pytest
from multidict import MultiDict

from podling.api.core_v1 import ComponentStatus, Pod
from podling.apiserver.http.exchange import HttpRequest
from podling.apiserver.workers.forwarding import Forwarding
from podling.apiserver.workers.writer import Writer
from podling.client.requests import Target
from podling.machinery.errors import ApiError
from podling.machinery.scheme import resource_of
from podling.store.replica import Replica
from podling.store.shared_revision import SharedRevision


class Request:
    """The parts of a request that decide."""

    def __init__(self, query: str) -> None:
        self.query_string = query
        self.query = MultiDict(parse_qsl(query, keep_blank_values=True))
        self.is_stale = False


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    """A writer at revision 10, for a replica at revision 5."""
    replica, shared = Replica(), SharedRevision(tmp_path / "revision")
    replica.begin(5, 5)
    replica.complete()
    shared.publish(10)
    return Writer(replica, shared, Forwarding(tmp_path / "inside"))


@pytest.mark.parametrize(
    ("query", "ahead"),
    [
        ("", True),
        ("limit=5", True),
        ("watch=true", True),
        ("resourceVersion=", True),
        ("resourceVersion=0", False),
        ("resourceVersion=5", False),
        ("resourceVersion=6", True),
        ("resourceVersion=99", True),
        ("resourceVersion=3&resourceVersionMatch=Exact", False),
        ("watch=true&resourceVersion=4", False),
        ("watch=true&resourceVersion=0&sendInitialEvents=true", False),
        ("resourceVersion=abc", True),
        ("continue=x", True),
    ],
)
def test_read_waits_for_what_it_has_to_show(writer: Writer, query: str, ahead: bool) -> None:
    assert writer.is_ahead(cast(HttpRequest, Request(query))) is ahead


@pytest.mark.parametrize(
    ("verb", "kind", "stale", "served"),
    [
        ("get", Pod, False, False),
        ("list", Pod, False, False),
        ("watch", Pod, False, False),
        ("get", Pod, True, True),
        ("list", Pod, True, True),
        ("create", Pod, False, True),
        ("patch", Pod, False, True),
        ("deletecollection", Pod, False, True),
        ("list", ComponentStatus, False, True),
    ],
)
def test_writer_serves_what_the_replica_cannot(
    writer: Writer, verb: str, kind: type[Any], stale: bool, served: bool
) -> None:
    request = Request("")
    request.is_stale = stale
    assert writer.serves(cast(HttpRequest, request), verb, Target(resource_of(kind))) is served


def test_watch_that_cannot_begin_in_time_is_refused(writer: Writer) -> None:
    request = Request("watch=true")
    request.is_stale = True
    with pytest.raises(ApiError, match="Too large resource version: 10, current: 5") as refused:
        writer.serves(cast(HttpRequest, request), "watch", Target(resource_of(Pod)))
    assert (refused.value.code, refused.value.retry_after) == (504, 1)

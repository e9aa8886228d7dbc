"""Queries of the node's own logs, as tables after upstream's (``kubelet_server_journal_test.go``)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from podling.kubelet.server.log_query import (
    LogOptions,
    LogQuery,
    file_names,
    journal_arguments,
    parse_query,
    query_errors,
)

TIME = "2019-12-04T02:00:00Z"
MOMENT = datetime(2019, 12, 4, 2, tzinfo=UTC)
LATER = datetime(2023, 2, 4, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([], LogQuery()),
        ([("unknown", "true")], LogQuery()),
        ([("sinceTime", "")], LogQuery()),
        ([("sinceTime", TIME)], LogQuery(options=LogOptions(since=MOMENT))),
        ([("untilTime", TIME)], LogQuery(options=LogOptions(until=MOMENT))),
        ([("tailLines", "100")], LogQuery(options=LogOptions(tail_lines=100))),
        ([("pattern", "foo")], LogQuery(options=LogOptions(pattern="foo"))),
        ([("boot", "")], LogQuery()),
        ([("boot", "0")], LogQuery(options=LogOptions(boot=0))),
        ([("boot", "-23")], LogQuery(options=LogOptions(boot=-23))),
        ([("query", "foo")], LogQuery(services=("foo",))),
        ([("query", "foo"), ("query", "bar")], LogQuery(services=("foo", "bar"))),
        ([("query", "foo"), ("query", "/bar")], LogQuery(services=("foo",), files=("/bar",))),
        ([("query", "/foo"), ("query", "\\bar")], LogQuery(files=("/foo", "\\bar"))),
    ],
)
def test_parameters_are_a_query(pairs: list[tuple[str, str]], expected: LogQuery) -> None:
    assert parse_query(pairs) == (expected, [])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        *(
            (name, text, f'{name}: Invalid value: "{text}": invalid time format')
            for name in ("sinceTime", "untilTime")
            for text in ("2019-12-04 02:00:00", "2019-12-04 02", "2019-12-04", "2019-13-04T02:00:00Z", " ")
        ),
        ("tailLines", "foo", 'tailLines: Invalid value: "foo": strconv.Atoi: parsing "foo": invalid syntax'),
        ("tailLines", " ", 'tailLines: Invalid value: " ": strconv.Atoi: parsing " ": invalid syntax'),
        ("boot", "foo", 'boot: Invalid value: "foo": strconv.Atoi: parsing "foo": invalid syntax'),
        ("query", "", 'query: Invalid value: [""]: query cannot be empty'),
        ("query", "   ", 'query: Invalid value: ["   "]: query cannot be empty'),
    ],
)
def test_wrong_parameter_is_named(name: str, value: str, message: str) -> None:
    _, errors = parse_query([(name, value)])
    assert [str(error) for error in errors] == [message]


@pytest.mark.parametrize("service", ["svc1", "svc.foo", "svc_foo", "svc@foo", "svc:foo", "s" * 256])
def test_service_has_a_safe_name(service: str) -> None:
    assert query_errors(LogQuery(services=(service,))) == []


UNSAFE = "input contains unsupported characters"
BOTH = 'query: Invalid value: "[/a], [b]": cannot specify a file and service'


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (LogQuery(), "query: Required value: cannot be empty with options"),
        (LogQuery(options=LogOptions(since=MOMENT)), "query: Required value: cannot be empty with options"),
        (LogQuery(services=("svc\n",)), f'query: Invalid value: "svc\\n": {UNSAFE}'),
        (LogQuery(services=("svc/foo",)), f'query: Invalid value: "svc/foo": {UNSAFE}'),
        (LogQuery(services=("$(id)",)), f'query: Invalid value: "$(id)": {UNSAFE}'),
        (LogQuery(services=("s" * 257,)), "length must be less than 256"),
        (LogQuery(services=tuple("abcde")), "query: Too many: 5: must have at most 4 items"),
        (LogQuery(services=("b",), files=("/a",)), BOTH),
        (LogQuery(files=("/a", "/b")), "cannot specify more than one file"),
        (LogQuery(files=("/a",), options=LogOptions(pattern="x")), "cannot specify file with options"),
        (LogQuery(services=("a",), options=LogOptions(pattern="foo\\")), "error parsing regexp"),
        (
            LogQuery(services=("a",), options=LogOptions(since=LATER, until=MOMENT)),
            "must be after `sinceTime`",
        ),
        (
            LogQuery(services=("a",), options=LogOptions(boot=1)),
            "boot: Invalid value: 1: must be less than 1",
        ),
        (
            LogQuery(services=("a",), options=LogOptions(tail_lines=100_001)),
            "tailLines: Invalid value: 100001: must be between 0 and 100000, inclusive",
        ),
    ],
)
def test_query_that_cannot_be_answered_is_refused(query: LogQuery, message: str) -> None:
    (error,) = query_errors(query)
    assert message in str(error)


def test_options_of_a_service_are_valid() -> None:
    options = LogOptions(since=MOMENT, until=LATER, boot=-1, tail_lines=100_000, pattern="a.*b")
    assert query_errors(LogQuery(services=("a", "b"), options=options)) == []


def test_query_becomes_arguments_of_journalctl() -> None:
    basic = ("--utc", "--no-pager", "--output=short-precise")
    assert journal_arguments((), LogOptions()) == basic
    assert journal_arguments(("p1", "", "p2"), LogOptions()) == (*basic, "--unit=p1", "--unit=p2")
    options = LogOptions(since=MOMENT, until=LATER, boot=-1, tail_lines=5, pattern="-x")
    assert journal_arguments(("a",), options) == (
        *basic,
        "--since=2019-12-04 02:00:00",
        "--until=2023-02-04 02:00:00",
        "--pager-end",
        "--lines=5",
        "--unit=a",
        "--grep=-x",
        "--boot",
        "-1",
    )


def test_service_may_log_to_one_of_three_files() -> None:
    assert file_names("web") == ("web", "web.log", "web/web.log")

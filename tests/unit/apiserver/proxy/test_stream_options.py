"""Options of logs, and the messages of their refusals."""

from __future__ import annotations

import pytest

from podling.apiserver.proxy.stream_options import check_log_options
from podling.machinery.errors import ApiError

SINCE = "2026-01-01T00:00:00Z"
TWICE = "[]: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified"
ONE_STREAM = "[]: Forbidden: `tailLines` and specific `stream` are mutually exclusive for now"


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"tailLines": "0"},
        {"sinceSeconds": "1"},
        {"sinceTime": SINCE},
        {"stream": "All", "tailLines": "5"},
    ],
)
def test_valid_log_options_are_accepted(query: dict[str, str]) -> None:
    check_log_options("web", query)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"tailLines": "-1"}, "tailLines: Invalid value: -1: must be greater than or equal to 0"),
        ({"limitBytes": "0"}, "limitBytes: Invalid value: 0: must be greater than 0"),
        ({"sinceSeconds": "0"}, "sinceSeconds: Invalid value: 0: must be greater than 0"),
        ({"sinceSeconds": "0", "sinceTime": SINCE}, TWICE),
        ({"stream": "Stdout", "tailLines": "5"}, ONE_STREAM),
    ],
)
def test_invalid_log_options_are_refused(query: dict[str, str], told: str) -> None:
    with pytest.raises(ApiError) as caught:
        check_log_options("web", query)
    assert str(caught.value) == f'PodLogOptions "web" is invalid: {told}'
    assert caught.value.code == 422

"""Conversion of JSON data to CEL values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from podling.apiserver.cel.readers import reader
from podling.apiserver.cel.types import BOOL, DYN, INT, STRING, Type, list_of, map_of

TIME = Type("timestamp")
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("type_", "given", "value"),
    [
        (TIME, "2026-01-01T00:00:00Z", NEW_YEAR),
        (Type("duration"), "1m30s", timedelta(seconds=90)),
        (Type("bytes"), "YWI=", b"ab"),
        (list_of(TIME), ["2026-01-01T00:00:00Z", None], [NEW_YEAR, None]),
        (map_of(STRING, TIME), {"a": "2026-01-01T00:00:00Z"}, {"a": NEW_YEAR}),
        (list_of(TIME), None, None),
    ],
)
def test_text_becomes_a_value_of_its_type(type_: Type, given: Any, value: Any) -> None:
    read = reader(type_)
    assert read is not None
    assert read(given) == value
    assert read(read(given)) == value, "reading is idempotent"


def test_whole_number_becomes_a_double() -> None:
    read = reader(Type("double"))
    assert read is not None
    assert type(read(2)) is float


@pytest.mark.parametrize("type_", [BOOL, INT, STRING, DYN, list_of(INT), map_of(STRING, STRING)])
def test_plain_types_need_no_conversion(type_: Type) -> None:
    assert reader(type_) is None


@pytest.mark.parametrize(
    ("type_", "given", "why"),
    [
        (TIME, "yesterday", "yesterday"),
        (Type("duration"), "soon", 'invalid duration "soon"'),
    ],
)
def test_unreadable_text_is_an_error(type_: Type, given: str, why: str) -> None:
    read = reader(type_)
    assert read is not None
    with pytest.raises(ValueError, match=why):
        read(given)

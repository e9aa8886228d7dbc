"""Single values: canonical forms, and Go's messages for those that cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from podling.machinery.encoding import scalars
from podling.machinery.encoding.scalars import WrongType

TIME = '"2006-01-02T15:04:05Z07:00"'
MICRO_TIME = '"2006-01-02T15:04:05.000000Z07:00"'


@pytest.mark.parametrize(
    ("read", "value", "kept"),
    [
        (scalars.quantity, "1000m", "1"),
        (scalars.quantity, " 1024Mi ", "1Gi"),
        (scalars.quantity, 1, "1"),
        (scalars.quantity, 0.5, "500m"),
        (scalars.quantity, "1n", "1n"),
        (scalars.resource, "1n", "1m"),
        (scalars.resource, 2, "2"),
        (scalars.int32, 2**31 - 1, 2**31 - 1),
        (scalars.int64, -(2**63), -(2**63)),
        (scalars.int_or_string, "80%", "80%"),
        (scalars.int_or_string, 80, 80),
        (scalars.time, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        (scalars.time, "2026-01-01T02:00:00.999+02:00", "2026-01-01T00:00:00Z"),
        (scalars.time, "0001-01-01T00:00:00Z", None),
        (scalars.time, "0001-01-01T02:00:00+02:00", None),
        (scalars.micro_time, "2026-01-01T02:00:00.123456+02:00", "2026-01-01T00:00:00.123456Z"),
        (scalars.micro_time, "0001-01-01T00:00:00.000000Z", None),
        (scalars.base64, "", ""),
        (scalars.base64, "YW\r\nJj", "YWJj"),
        (scalars.base64, "YQ==", "YQ=="),
    ],
)
def test_scalar_is_kept_in_canonical_form(read: Callable[[Any], Any], value: Any, kept: Any) -> None:
    assert read(value) == kept


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (scalars.int32, 2**31),
        (scalars.int32, -(2**31) - 1),
        (scalars.int32, True),
        (scalars.int32, 1.0),
        (scalars.int32, "1"),
        (scalars.int64, 2**63),
        (scalars.int64, None),
        (scalars.int_or_string, 2**31),
        (scalars.int_or_string, []),
        (scalars.time, 5),
        (scalars.micro_time, {}),
        (scalars.base64, 5),
    ],
)
def test_scalar_of_another_json_type_is_refused(read: Callable[[Any], Any], value: Any) -> None:
    with pytest.raises(WrongType):
        read(value)


@pytest.mark.parametrize(
    ("read", "value", "text"),
    [
        (scalars.time, "", f'parsing time "" as {TIME}: cannot parse "" as "2006"'),
        (scalars.time, "now", f'parsing time "now" as {TIME}: cannot parse "now" as "2006"'),
        (scalars.time, "2026-01-01", f'parsing time "2026-01-01" as {TIME}: cannot parse "" as "T"'),
        (
            scalars.time,
            "2026-01-01T00:00:00",
            f'parsing time "2026-01-01T00:00:00" as {TIME}: cannot parse "" as "Z07:00"',
        ),
        (
            scalars.time,
            "2026-01-01T00:00:00Zx",
            'parsing time "2026-01-01T00:00:00Zx": extra text: "x"',
        ),
        (
            scalars.time,
            "2026-02-30T00:00:00+00:00",
            'parsing time "2026-02-30T00:00:00+00:00": day out of range',
        ),
        (
            scalars.micro_time,
            "2026-01-01T00:00:00Z",
            f'parsing time "2026-01-01T00:00:00Z" as {MICRO_TIME}: cannot parse "Z" as ".000000"',
        ),
        (
            scalars.micro_time,
            "2026-01-01T00:00:00.123Z",
            f'parsing time "2026-01-01T00:00:00.123Z" as {MICRO_TIME}: cannot parse ".123Z" as ".000000"',
        ),
        (scalars.base64, "YQ", "illegal base64 data at input byte 0"),
        (scalars.base64, "YWJjYQ", "illegal base64 data at input byte 4"),
        (scalars.base64, "Y%==", "illegal base64 data at input byte 1"),
    ],
)
def test_unreadable_scalar_has_the_message_of_go(read: Callable[[Any], Any], value: str, text: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 the text is compared below
        read(value)
    assert str(caught.value) == text

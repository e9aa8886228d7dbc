"""Formats of strings in schemas."""

from __future__ import annotations

import pytest

from podling.machinery.formats import matches


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date-time", "2026-01-02T03:04:05Z", "2026-01-02"),
        ("date", "2026-02-28", "2026-02-30"),
        ("ipv4", "10.0.0.1", "10.0.0"),
        ("ipv6", "::1", "10.0.0.1"),
        ("cidr", "10.0.0.0/8", "10.0.0.1"),
        ("uuid", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "f81d4fae"),
        ("duration", "1h30m", "soon"),
        ("byte", "aGk=", "%"),
        ("hostname", "a.example.com", "-a"),
        ("email", "a@b.c", "a"),
        ("k8s-short-name", "a-b", "a.b"),
        ("k8s-long-name", "a.b", "A"),
        ("bsonobjectid", "507f1f77bcf86cd799439011", "507f1f77"),
        ("creditcard", "4111-1111-1111-1111", "4111-1111-1111-1112"),
        ("isbn", "0-306-40615-2", "0-306-40615-3"),
        ("isbn13", "978-0-306-40615-7", "978-0-306-40615-8"),
        ("ssn", "111-11-1111", "111-1"),
        ("rgbcolor", "rgb(1, 20, 255)", "rgb(1, 20, 256)"),
        ("password", "", None),
        ("nobody-knows-it", "anything", None),
    ],
)
def test_format_accepts_valid_values_only(name: str, good: str, bad: str | None) -> None:
    assert matches(name, good)
    assert bad is None or not matches(name, bad)

"""Named formats of strings: examples that each one accepts and refuses."""

from __future__ import annotations

import pytest

from podling.machinery.formats import is_known, matches

ISBN = "isbn"
CASES: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = [
    ("bsonobjectid", ("507f1f77bcf86cd799439011",), ("507f1f77bcf86cd79943901", "507f1f77bcf86cd79943901z")),
    ("byte", ("", "YWJj", "YQ=="), ("YQ", "a b=", "%%%%")),
    ("cidr", ("192.0.2.1/24", "2001:db8::/32"), ("192.0.2.1", "192.0.2.0/33", "a/24")),
    ("creditcard", ("4111 1111 1111 1111", "378282246310005"), ("4111111111111112", "1234", "")),
    ("date", ("2026-02-28",), ("2026-02-29", "20260228", "2026-2-28", "28.02.2026")),
    (
        "date-time",
        ("2026-01-01T00:00:00Z", "2026-01-01t10:00:00.5+02:00"),
        ("2026-01-01", "2026-13-01T00:00:00Z"),
    ),
    ("datetime", ("2026-01-01T00:00:00Z",), ("tomorrow",)),
    ("duration", ("1h30m", "0", "-1.5s", "3 days", "2w"), ("1", "h", "1y", "one day")),
    ("email", ("a@example.com",), ("example.com", "a@b@c", "@")),
    ("hexcolor", ("#fff", "A0B1C2"), ("#ffff", "ggg", "#12345")),
    ("hostname", ("example.com", "a", "a-b.c."), ("-a", "a..b", "a" * 64, "")),
    ("ipv4", ("192.0.2.1",), ("192.0.2", "256.0.0.1", "::1")),
    ("ipv6", ("::1", "2001:db8::1"), ("192.0.2.1", "1::2::3")),
    (ISBN, ("0-306-40615-2", "978-0-306-40615-7", "080442957X"), ("0306406153", "9780306406158", "12")),
    ("isbn10", ("0306406152",), ("9780306406157",)),
    ("isbn13", ("9780306406157",), ("0306406152",)),
    ("k8s-short-name", ("web-1",), ("Web", "a.b", "-a", "a" * 64)),
    ("k8s-long-name", ("web.example.com",), ("Web", "a..b", "a" * 254)),
    ("mac", ("01:23:45:67:89:ab", "01-23-45-67-89-AB"), ("01:23:45:67:89", "0123456789ab")),
    ("rgbcolor", ("rgb(0,128,255)", "rgb( 1 , 2 , 3 )"), ("rgb(0,0,256)", "rgb(0,0)", "rgb(01,0,0)")),
    ("ssn", ("111-22-3333", "111223333"), ("11-22-3333", "111-22-333")),
    ("uri", ("https://example.com/a?b", "urn:x:y", "/path"), ("example", "", "http://[::1")),
    ("uuid", ("123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"), ("123e4567", "")),
    ("uuid3", ("bcd02e22-68f0-3046-a512-327cca9def8f",), ("bcd02e22-68f0-4046-a512-327cca9def8f",)),
    ("uuid4", ("025b0d74-00a2-4048-bf57-227c5111bb34",), ("025b0d74-00a2-5048-bf57-227c5111bb34",)),
    ("uuid5", ("886313e1-3b8a-5372-9b90-0c9aee199e5d",), ("886313e1-3b8a-4372-9b90-0c9aee199e5d",)),
]


@pytest.mark.parametrize(("name", "accepted", "refused"), CASES)
def test_format_accepts_and_refuses(name: str, accepted: tuple[str, ...], refused: tuple[str, ...]) -> None:
    assert is_known(name)
    assert [text for text in accepted if not matches(name, text)] == []
    assert [text for text in refused if matches(name, text)] == []


def test_password_accepts_any_text() -> None:
    assert is_known("password")
    assert matches("password", "")


@pytest.mark.parametrize("name", ["", "int32", "phone"])
def test_unknown_format_accepts_any_text(name: str) -> None:
    assert not is_known(name)
    assert matches(name, "%%%")

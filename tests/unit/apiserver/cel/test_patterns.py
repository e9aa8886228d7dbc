"""Patterns in the syntax of RE2, with Go's messages."""

from __future__ import annotations

import pytest

from podling.apiserver.cel.patterns import pattern


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a)", "unexpected ): `a)`"),
        ("(a", "missing closing ): `(a`"),
        ("[a", "missing closing ]: `[a`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("(?P<n", "invalid named capture: `(?P<n`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("\\8", "invalid escape sequence: `\\8`"),
    ],
)
def test_malformed_pattern_has_the_message_of_go(text: str, why: str) -> None:
    with pytest.raises(ValueError, match="error parsing regexp") as refused:
        pattern(text)
    assert str(refused.value) == f"error parsing regexp: {why}"


def test_pattern_matches_in_linear_time() -> None:
    assert pattern("^(a+)+$").search("a" * 50_000 + "b") is None


def test_pattern_sees_characters_rather_than_bytes() -> None:
    assert pattern("^.$").search("ä") is not None

"""Caches of functions of one text keep short texts only."""

from __future__ import annotations

from podling.machinery.text_cache import cached_by_text


def test_short_texts_are_cached_and_long_ones_are_not() -> None:
    calls: list[str] = []

    @cached_by_text(2, length=3)
    def length_of(text: str, *, added: int = 0) -> int:
        calls.append(text)
        return len(text) + added

    assert [length_of(text) for text in ("abc", "abc", "abcd", "abcd")] == [3, 3, 4, 4]
    assert calls == ["abc", "abcd", "abcd"]
    assert (length_of("abc", added=1), length_of("abc")) == (4, 3)

"""A cache for functions of one text, bounded by the length of the text as well as by the number of results.

Most texts come from clients. A cache that is bounded by count alone keeps thousands of texts of any length.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from inspect import signature
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

LENGTH_MAX = 256


def cached_by_text(count: int, length: int = LENGTH_MAX) -> Callable[[F], F]:
    """Cache up to ``count`` results, of texts with at most ``length`` characters; compute the others anew."""

    def decorate(function: F) -> F:
        remembered = lru_cache(count)(function)

        def find(text: str) -> Any:
            return remembered(text) if len(text) <= length else function(text)

        def find_with_options(text: str, **options: Any) -> Any:
            return remembered(text, **options) if len(text) <= length else function(text, **options)

        plain = len(signature(function).parameters) == 1
        return cast(F, wraps(function)(find if plain else find_with_options))

    return decorate

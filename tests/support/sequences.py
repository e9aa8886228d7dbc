"""Sequences of steps for property tests of stateful objects."""

from __future__ import annotations

from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


def sequences(step: st.SearchStrategy[T], longest: int) -> st.SearchStrategy[list[T]]:
    """Return short and long sequences: Hypothesis' lists have about five items by default."""
    return st.lists(step, max_size=longest) | st.lists(step, min_size=longest // 2, max_size=longest)

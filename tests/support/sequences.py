"""Sequences of steps for properties of what has a history."""

from __future__ import annotations

from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


def sequences(step: st.SearchStrategy[T], longest: int) -> st.SearchStrategy[list[T]]:
    """Short ones and long ones: left alone, lists have about five items, however many they may have."""
    return st.lists(step, max_size=longest) | st.lists(step, min_size=longest // 2, max_size=longest)

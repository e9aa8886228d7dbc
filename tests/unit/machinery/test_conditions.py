"""Rules that all status conditions share."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from podling.api.meta_v1 import Condition
from podling.machinery.conditions import find, is_true, with_condition, without

THEN = datetime(2026, 1, 1, tzinfo=UTC)
NOW = THEN + timedelta(minutes=5, microseconds=7)


def condition(type_: str, status: str, message: str = "", since: datetime | None = THEN) -> Condition:
    return Condition(type=type_, status=status, reason="r", message=message, last_transition_time=since)


HELD = (condition("A", "True"), condition("B", "False"))


@pytest.mark.parametrize(("type_", "true"), [("A", True), ("B", False), ("C", False)])
def test_condition_is_found_by_type(type_: str, true: bool) -> None:
    assert is_true(HELD, type_) is true
    assert find(HELD, type_) == next((each for each in HELD if each.type == type_), None)


def test_same_condition_returns_same_tuple() -> None:
    assert with_condition(HELD, condition("A", "True", since=None), NOW) is HELD


def test_new_message_keeps_place_and_transition_time() -> None:
    changed = with_condition(HELD, condition("A", "True", "new", since=None), NOW)
    assert changed == (condition("A", "True", "new"), HELD[1])


def test_new_status_moves_transition_time_in_whole_seconds() -> None:
    changed = with_condition(HELD, condition("B", "True", since=None), NOW)
    assert changed == (HELD[0], condition("B", "True", since=THEN + timedelta(minutes=5)))


def test_condition_of_new_type_is_appended_and_removed() -> None:
    added = with_condition(HELD, condition("C", "True"), NOW)
    assert [each.type for each in added] == ["A", "B", "C"]
    assert without(added, "C") == HELD
    assert without(HELD, "C") == HELD

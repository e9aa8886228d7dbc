"""The words of summaries."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from podling.sim.assertions import Result
from podling.sim.checkers.base import Violation
from podling.sim.runner import Outcome
from podling.sim.schedule import ActionRecord
from podling.sim.shrinking import first_failure

GOOD = Result("good", True, 1.0, "held")
BAD = Result("bad", False, 1.0, "did not hold")
VIOLATION = Violation(datetime(2026, 1, 1, tzinfo=UTC), "bound-once", "moved")


def outcome(*results: Result, violations: tuple[Violation, ...] = (), error: str = "") -> Outcome:
    return Outcome(
        seed=1,
        digest="",
        lines=0,
        seconds=1.0,
        is_complete=True,
        results=results,
        violations=violations,
        actions=(ActionRecord(0.5, "drain", error),),
    )


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (outcome(GOOD, BAD, violations=(VIOLATION,)), "bound-once: moved"),
        (outcome(GOOD, BAD, error="refused"), "bad: did not hold"),
        (outcome(GOOD, error="refused"), "drain: refused"),
    ],
)
def test_first_failure_is_the_gravest(found: Outcome, text: str) -> None:
    assert first_failure(found) == text
    assert not found.passed

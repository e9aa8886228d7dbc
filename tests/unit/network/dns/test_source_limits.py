"""The limit of one client's questions."""

from __future__ import annotations

from podling.network.dns.source_limits import QUESTIONS_MAX, WINDOW_SECONDS, SourceLimits


def test_flood_of_one_client_takes_nothing_from_others() -> None:
    limits = SourceLimits()
    answered = sum(limits.allows("10.88.0.2", 5.0) for _ in range(3 * QUESTIONS_MAX))
    assert answered == QUESTIONS_MAX
    assert limits.allows("10.88.0.3", 5.0)
    assert not limits.allows("10.88.0.2", 5.0 + WINDOW_SECONDS / 2)
    assert limits.allows("10.88.0.2", 5.0 + 2 * WINDOW_SECONDS), "the next window is a new one"


def test_steady_client_below_the_limit_is_never_refused() -> None:
    limits = SourceLimits()
    step = WINDOW_SECONDS / (QUESTIONS_MAX // 2)
    assert all(limits.allows("10.88.0.2", number * step) for number in range(5 * QUESTIONS_MAX))

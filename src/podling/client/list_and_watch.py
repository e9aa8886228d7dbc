"""The next request of an informer: a list, or the watch that follows it. Pure.

``step`` goes between two states, ``NeedList`` and ``Watching``; "watching without a revision" cannot be
written down. Only progress (an event or a bookmark that arrived) clears the failures, so neither an answer
that is always empty nor a list that succeeds before a watch that fails can turn into a busy loop.
"""

from __future__ import annotations

from typing import assert_never

from msgspec import Struct

BACKOFF_SECONDS_INITIAL = 0.8
BACKOFF_SECONDS_MAX = 30.0
"""client-go's reflector: 800 ms doubling to 30 s, with jitter of the delay's own size."""


class NeedList(Struct, frozen=True):
    """Nothing usable is held, or its revision is too old to be watched from."""

    failures: int = 0


class Watching(Struct, frozen=True):
    """The copy is complete as of ``revision``; ``progressed`` since it was listed."""

    revision: str
    failures: int = 0
    progressed: bool = False


State = NeedList | Watching


class Listed(Struct, frozen=True):
    revision: str


class WatchEnded(Struct, frozen=True):
    """The watch ended without an error, having brought the copy to ``revision``."""

    revision: str


class WatchFailed(Struct, frozen=True):
    """The watch ended with an error, having brought the copy to ``revision``."""

    revision: str
    expired: bool = False


class ListFailed(Struct, frozen=True):
    pass


Outcome = Listed | WatchEnded | WatchFailed | ListFailed


def step(state: State, outcome: Outcome) -> State:
    """Return the next state after the request of ``state`` had this ``outcome``."""
    match outcome:
        case Listed(revision=revision):
            return Watching(revision, state.failures)
        case ListFailed():
            return NeedList(state.failures + 1)
        case WatchEnded(revision=revision) | WatchFailed(revision=revision):
            if not isinstance(state, Watching):
                raise TypeError("a watch cannot end that was never started")
            moved = revision != state.revision
            if isinstance(outcome, WatchFailed) and outcome.expired:
                return NeedList(0 if moved or state.progressed else state.failures + 1)
            failed = isinstance(outcome, WatchFailed)
            if moved:
                return Watching(revision, int(failed), progressed=True)
            return Watching(revision, state.failures + 1, state.progressed)
        case _:
            assert_never(outcome)


def delay_seconds(failures: int) -> float:
    """The shortest wait before the next request after so many failures in a row; jitter comes on top."""
    if failures <= 0:
        return 0.0
    return min(BACKOFF_SECONDS_INITIAL * 2.0 ** min(failures - 1, 20), BACKOFF_SECONDS_MAX)

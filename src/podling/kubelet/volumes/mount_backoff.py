"""Back-off of volumes that cannot be set up: when each volume of a pod is tried again.

Every volume has a back-off of its own: 500 ms after the first failure, doubled by each further one up to
2 min 2 s, and forgotten once the volume is set up. News of a volume's source allows one try before the wait
is over. If that try fails for the same reason it does not count, so news neither shortens nor prolongs waits.

Upstream: ``pkg/util/goroutinemap/exponentialbackoff``, ``pkg/volume/util/nestedpendingoperations``.

Pure; ``MountBackoffs`` remembers the failures between two passes.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

INITIAL_SECONDS = 0.5
"""``initialDurationBeforeRetry`` upstream."""
MAX_SECONDS = 122.0
"""``maxDurationBeforeRetry`` upstream."""


class MountBackoff(Struct, frozen=True):
    """The last failure of one volume, and the seconds before which it is not tried again."""

    failed_at: datetime
    seconds: float
    message: str

    @property
    def retry_at(self) -> datetime:
        return self.failed_at + timedelta(seconds=self.seconds)


def after_failure(
    before: MountBackoff | None, now: datetime, message: str, max_seconds: float = MAX_SECONDS
) -> MountBackoff:
    """Return the back-off after one more failure; ``before`` itself if that failure does not count."""
    if before is None:
        return MountBackoff(now, min(INITIAL_SECONDS, max_seconds), message)
    if now < before.retry_at and message == before.message:
        return before
    return MountBackoff(now, min(2 * before.seconds, max_seconds), message)


class MountBackoffs:
    """The volumes of one pod that cannot be set up, by name."""

    def __init__(self) -> None:
        self._failing: dict[str, MountBackoff] = {}
        self._changed: set[str] = set()
        """The failing volumes whose source has changed since they were last tried."""

    def get(self, volume: str) -> MountBackoff | None:
        """Return the volume's last failure; None if it has not failed since it was last set up."""
        return self._failing.get(volume)

    def is_held_back(self, volume: str, now: datetime) -> bool:
        """Return whether the volume has to wait."""
        found = self._failing.get(volume)
        return found is not None and now < found.retry_at and volume not in self._changed

    def note_change(self, volume: str) -> None:
        """Allow the next try at once: the volume's source has changed."""
        self._changed.add(volume)

    def note_try(self, volume: str) -> None:
        """Note that a try begins. A change that comes during it allows another one."""
        self._changed.discard(volume)

    def note_failure(
        self, volume: str, now: datetime, message: str, max_seconds: float = MAX_SECONDS
    ) -> bool:
        """Take in a failure; return whether it counts, so that it is to be reported."""
        before = self._failing.get(volume)
        after = self._failing[volume] = after_failure(before, now, message, max_seconds)
        return after is not before

    def note_success(self, volume: str) -> None:
        self._failing.pop(volume, None)

    def retry_at(self) -> datetime | None:
        """Return when the first of the waits is over; None if no volume waits."""
        return min((found.retry_at for found in self._failing.values()), default=None)

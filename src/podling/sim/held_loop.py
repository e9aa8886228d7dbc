"""The event loop of a run that stops at a moment and is visited: virtual time before it, sockets after.

Until the moment it is the virtual-time loop, so the run is the one that its seed gives. Then time stands
still, the loop waits for its sockets, and ``winding`` moves time on when a client wants that. All timers,
asyncio's too, run in virtual time.
"""

from __future__ import annotations

import math
import selectors
from collections.abc import Callable
from datetime import datetime
from typing import Any

from podling import clock
from podling.sim.loop import EPOCH, JumpingSelector, VirtualTimeLoop
from podling.winding import Winding, WoundTimer

_Ready = list[tuple[selectors.SelectorKey, int]]


class HeldWinding(Winding):
    """Winds a loop whose timers are asyncio's own."""

    def __init__(self, loop: HeldLoop) -> None:
        super().__init__(loop.started_at, clock.real_monotonic, loop.call_soon)
        self._loop = loop

    @property
    def target(self) -> float | None:
        """The moment up to which time is being wound; None while it stands still."""
        return self._target

    def steady_time(self) -> float:
        return self._loop.steady_time()

    def call_later(self, seconds: float, callback: Callable[..., object], *arguments: object) -> WoundTimer:
        timer = WoundTimer(self.steady_time() + max(0.0, seconds), callback, arguments)
        self._loop.call_later(max(0.0, seconds), timer.run)
        return timer

    def set_speed(self, speed: float) -> None:
        if speed:
            raise ValueError("a run that was stopped has no speed of its own; advance it instead")
        self._arrive()

    def arrive(self) -> None:
        """End the winding: time has come to its target."""
        self._arrive()

    def wait_for_clients(self) -> float:
        """Return the seconds of the machine's time that clients have to react."""
        return self._wait_for_clients()

    def _next(self) -> float | None:
        return self._loop.next_timer()


class _HeldSelector(JumpingSelector):
    """Jumps until ``hold_at``, and with ``winding`` only when that says so."""

    hold_at = math.inf
    on_hold: Callable[[], object] | None = None
    winding: HeldWinding | None = None
    wake_up = -1
    """The descriptor by which other threads of the process wake the loop."""

    def select(self, timeout: float | None = None) -> _Ready:
        if self.winding is not None:
            return self._held(self.winding, timeout)
        if self.hold_at == math.inf or (timeout is not None and self.jump + timeout <= self.hold_at):
            return super().select(timeout)
        ready = self.wait(0)
        if not ready and not self.leaps.make_passed() and self.on_hold is not None:
            self.jump = max(self.jump, self.hold_at)
            self.on_hold()
        return ready

    def _held(self, winding: HeldWinding, timeout: float | None) -> _Ready:
        ready = self._noted(winding, self.wait(0))
        if ready or timeout == 0:
            return ready
        target = winding.target
        if target is None:
            return self._noted(winding, self.wait(None))
        if wait := winding.wait_for_clients():
            return self._noted(winding, self.wait(wait))
        if timeout is not None and self.jump + timeout <= target:
            self.jump += timeout
        elif target == math.inf:
            return self._noted(winding, self.wait(None))
        else:
            self.jump = target
            winding.arrive()
        return []

    def _noted(self, winding: HeldWinding, ready: _Ready) -> _Ready:
        if any(key.fd != self.wake_up for key, _ in ready):
            winding.note_activity()
        return ready


class HeldLoop(VirtualTimeLoop):
    """A virtual-time loop that can stand still and be wound. ``winding`` is None while it runs freely."""

    winding: HeldWinding | None = None

    def __init__(self, seed: int = 0, start: datetime = EPOCH) -> None:
        self._held = _HeldSelector()
        super().__init__(seed, start, self._held)
        self._held.wake_up = self._ssock.fileno()  # type: ignore[attr-defined]
        self.started_at = start.timestamp()

    def hold_at(self, moment: float, on_hold: Callable[[], object]) -> None:
        """Stand still at a moment of ``time()``, and call ``on_hold`` then."""

        def hold() -> None:
            self.winding = self._held.winding = HeldWinding(self)
            on_hold()

        self._held.hold_at, self._held.on_hold = moment, hold
        self.leaps.limit = moment

    def release(self) -> None:
        """Let time run freely again."""
        self._held.hold_at = self.leaps.limit = math.inf
        self.winding = self._held.winding = None

    def next_timer(self) -> float | None:
        """Return the moment of the next timer."""
        scheduled: list[Any] = self._scheduled  # type: ignore[attr-defined]
        return min((each.when() for each in scheduled if not each.cancelled()), default=None)

"""The wall clocks of simulated machines, which faults set forward and back.

Each node has one, and so has the control plane's machine. The work of a machine runs in a context that names
its clock: tasks and timers inherit it from the code that starts them. Where one machine's code calls another
one's, as a request does, the callee's clock is put in place: ``with clock.in_use():``.

Monotonic time, timers and the simulator's own observations do not depend on these clocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from msgspec import Struct


class MachineClock(Struct, eq=False):
    """One machine's wall clock. ``ahead``: the seconds by which it is ahead of the true time."""

    ahead: float = 0.0

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Make this the clock of the code in the block, and of the tasks that it starts."""
        before = machine_clock.get()
        machine_clock.set(self)
        try:
            yield
        finally:
            machine_clock.set(before)


machine_clock: ContextVar[MachineClock | None] = ContextVar("machine_clock", default=None)
"""The clock of the machine whose code runs; None: the true time."""


def forget_machine() -> None:
    """Use the true time in the running task from now on."""
    machine_clock.set(None)

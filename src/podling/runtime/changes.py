"""Changes of a runtime's state, as far as the runtime knows of all of them.

The events of a runtime may be lost, and do not cover all that it answers, so a kubelet looks at it again and
again. A runtime in memory knows when an answer may differ from the one before. A kubelet then looks only
after a change (``kubelet.rounds``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

Listener = Callable[[], object]


class Changes:
    """Calls listeners when something may have changed."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def note(self) -> None:
        """Call the listeners: an answer may differ from the one before."""
        for each in self._listeners:
            each()

    @contextmanager
    def listen(self, listener: Listener) -> Iterator[None]:
        """Call ``listener`` at each change while the block runs. It must be quick, and not wait."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)


@runtime_checkable
class ReportsChanges(Protocol):
    """A runtime whose answers change only as it says."""

    @property
    def changes(self) -> Changes:
        """Notes every change of what the runtime lists, its status, images, and use but for the CPU time."""
        ...

    def is_predictable(self) -> bool:
        """Return whether calls succeed with the same answers until the next change or step of use."""
        ...

    def seconds_to_next_use(self) -> float | None:
        """Return the time until some container's use of memory changes by itself; None: it does not."""
        ...

    def seconds_to_next_answer(self, container_id: str) -> float | None:
        """Return the time until a container's answers to commands and probes change by themselves.

        None: they do not. 0: they may at any time, as over a network.
        """
        ...

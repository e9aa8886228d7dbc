"""No object is removed while it has finalizers."""

from __future__ import annotations

from podling.sim.changes import Change
from podling.sim.checkers.base import Checker


class Finalizers(Checker):
    """Looks at the last state of each removed object."""

    name = "finalizers"

    def change(self, change: Change) -> None:
        if change.new is None and change.last.metadata.finalizers:
            self.report(f"{change.key} was removed with {', '.join(change.last.metadata.finalizers)}")

"""A pod that has succeeded or failed stays so, and so does a job that is complete or has failed."""

from __future__ import annotations

from podling.sim.changes import Change
from podling.sim.checkers.base import Checker
from podling.sim.conditions import is_conditioned

FINAL = ("Succeeded", "Failed")
ENDS = ("Complete", "Failed")


class FinalPhases(Checker):
    """Compares the final states of pods and jobs before and after each change."""

    name = "final-phases"

    def change(self, change: Change) -> None:
        old, new = change.old, change.new
        if old is None or new is None or old.metadata.uid != new.metadata.uid:
            return
        if change.resource.kind == "Pod":
            before, after = old.status.phase, new.status.phase
            if before in FINAL and after != before:
                self.report(f"{change.key} was {before} and is {after}")
        elif change.resource.kind == "Job":
            for end in ENDS:
                if is_conditioned(old, end) and not is_conditioned(new, end):
                    self.report(f"{change.key} was {end} and is not any more")

"""No object outlives its owner: the garbage collector removes it once all its owners are gone.

An owner that is deleted in the foreground goes after the dependents that block it.
"""

from __future__ import annotations

from podling.sim.changes import Change
from podling.sim.checkers.base import Checker, Report, Surroundings, names

QUIET_SECONDS = 300.0
FOREGROUND = "foregroundDeletion"


class Owners(Checker):
    """Looks for orphans when the run is over, if no fault has lasted in the last minutes."""

    name = "owners"

    def __init__(self, surroundings: Surroundings, report: Report) -> None:
        super().__init__(surroundings, report)
        self._living: set[str] = set()
        self._owned: dict[str, tuple[str, tuple[str, ...]]] = {}
        """The key and the owners' UIDs of each owned object, by UID."""
        self._gone: dict[str, float] = {}
        """When objects went, by UID."""
        self._blocked: dict[str, dict[str, str]] = {}
        """The keys of dependents that block an owner's deletion, by its UID and theirs."""

    def change(self, change: Change) -> None:
        metadata = change.last.metadata
        uid = metadata.uid or ""
        self._note_blocks(change)
        if change.new is None:
            self._check_foreground(change)
            self._living.discard(uid)
            self._owned.pop(uid, None)
            self._gone[uid] = change.at.timestamp()
            return
        self._living.add(uid)
        owners = tuple(each.uid for each in metadata.owner_references)
        if owners:
            self._owned[uid] = (change.key, owners)
        else:
            self._owned.pop(uid, None)

    def _note_blocks(self, change: Change) -> None:
        uid = change.last.metadata.uid or ""
        if change.old is not None:
            for owner in change.old.metadata.owner_references:
                self._blocked.get(owner.uid, {}).pop(uid, None)
        if change.new is not None:
            for owner in change.new.metadata.owner_references:
                if owner.block_owner_deletion:
                    self._blocked.setdefault(owner.uid, {})[uid] = change.key

    def _check_foreground(self, change: Change) -> None:
        left = self._blocked.pop(change.last.metadata.uid or "", None)
        if left and change.old is not None and FOREGROUND in change.old.metadata.finalizers:
            self.report(f"{change.key} went before {names(sorted(left.values()))}, which block its deletion")

    def end(self) -> None:
        if not self.has_been_quiet_for(QUIET_SECONDS):
            return
        latest = self.surroundings.now().timestamp() - QUIET_SECONDS
        orphans = [
            key
            for key, owners in self._owned.values()
            if all(owner in self._gone and self._gone[owner] < latest for owner in owners)
        ]
        if orphans:
            self.report(f"{len(orphans)} objects have outlived their owners: {names(sorted(orphans))}")

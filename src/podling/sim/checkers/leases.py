"""A lease has one holder at a time: another one takes it only after it has expired or was given up."""

from __future__ import annotations

from datetime import timedelta

from podling.api.coordination_v1 import Lease
from podling.sim.changes import Change
from podling.sim.checkers.base import Checker


class Leases(Checker):
    """Compares the holders of each lease before and after each change."""

    name = "leases"

    def change(self, change: Change) -> None:
        if change.resource.kind != "Lease" or change.old is None or change.new is None:
            return
        old: Lease = change.old
        new: Lease = change.new
        before, after = old.spec.holder_identity, new.spec.holder_identity
        if not before or not after or before == after or old.spec.renew_time is None:
            return
        expires = old.spec.renew_time + timedelta(seconds=old.spec.lease_duration_seconds or 0)
        if change.at < expires:
            self.report(f"{change.key} was held by {before} until {expires:%H:%M:%S}; {after} has taken it")

"""A Service leads to the pods that are ready and to no others, some time after each change.

Only endpoints of pods that were ready, or not, for a while are judged, and only while no fault lasts.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from podling.api.core_v1 import Pod
from podling.api.discovery_v1 import EndpointSlice
from podling.sim.changes import Change
from podling.sim.checkers.base import Checker, Report, Surroundings
from podling.sim.conditions import is_conditioned

LAG = timedelta(seconds=30)
QUIET_SECONDS = 60.0


class Endpoints(Checker):
    """Compares the ready endpoints with the pods."""

    name = "endpoints"

    def __init__(self, surroundings: Surroundings, report: Report) -> None:
        super().__init__(surroundings, report)
        self._unready: dict[str, datetime] = {}
        """Since when pods are not ready, or gone, by UID."""
        self._slices: dict[str, EndpointSlice] = {}

    def change(self, change: Change) -> None:
        if change.resource.kind == "Pod":
            pod: Pod = change.last
            uid = pod.metadata.uid or ""
            is_gone = change.new is None or pod.metadata.deletion_timestamp is not None
            if is_gone or not is_conditioned(pod, "Ready"):
                self._unready.setdefault(uid, change.at)
            else:
                self._unready.pop(uid, None)
        elif change.resource.kind == "EndpointSlice":
            if change.new is None:
                self._slices.pop(change.key, None)
            else:
                self._slices[change.key] = change.new

    def tick(self) -> None:
        if not self.has_been_quiet_for(QUIET_SECONDS):
            return
        now = self.surroundings.now()
        for key, found in self._slices.items():
            for endpoint in found.endpoints:
                uid = endpoint.target_ref.uid if endpoint.target_ref is not None else ""
                since = self._unready.get(uid or "")
                if endpoint.conditions.ready and since is not None and now - since > LAG:
                    name = endpoint.target_ref.name if endpoint.target_ref is not None else ""
                    self.report(f"{key} leads to pod {name}, which is not ready since {since:%H:%M:%S}")
                    self._unready.pop(uid or "")

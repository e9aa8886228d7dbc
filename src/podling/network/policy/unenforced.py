"""Reports network policies on a node that cannot enforce them: its pods have the machine's own network.

No manifest may be ignored in silence. Each policy gets a warning as an event, when the node first sees it.
"""

from __future__ import annotations

from typing import Protocol

from podling.api.networking_v1 import NetworkPolicy
from podling.client.events import Regarding
from podling.client.informer_factory import InformerFactory

REASON = "NotEnforced"


class Recorder(Protocol):
    """Records events."""

    def event(self, obj: Regarding, type: str, reason: str, message: str) -> None: ...


def report_policies(informers: InformerFactory, node: str, recorder: Recorder) -> None:
    """Record an event for each policy from now on, on behalf of ``node``."""
    message = f"pods on node {node} have the machine's own network: their traffic is not filtered"

    def report(policy: NetworkPolicy) -> None:
        recorder.event(policy, "Warning", REASON, message)

    informers.informer(NetworkPolicy).add_handler(report)

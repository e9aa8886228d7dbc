"""Problems of the node's runtime: one that does not respond, a full or read-only disk.

Pure.
"""

from __future__ import annotations

from podling.cli.evidence import (
    Evidence,
    Explanation,
    all_statuses,
    container_source,
    event_source,
    time_since,
)
from podling.kubelet.status.slow_calls import slow_call


def hanging(evidence: Evidence) -> Explanation | None:
    """A container waits for a call into the runtime: which one, and for how long."""
    for status in all_statuses(evidence.pod):
        waiting = status.state.waiting
        call = slow_call(waiting.message or "") if waiting is not None else None
        if waiting is None or call is None:
            continue
        verb, since = call
        text = (
            f"Container {status.name} waits for the container runtime, which has not answered {verb} for "
            f"{time_since(since, evidence.now)}; after two minutes it is given up and tried again."
        )
        return Explanation(
            area="runtime",
            reason=waiting.reason or "",
            container=status.name,
            text=text,
            advice="Look at what hangs on the node: ps axf | grep -E 'conmon|crun|runc'",
            evidence=(container_source(status),),
        )
    return None


def no_directories(evidence: Evidence) -> Explanation | None:
    """Return the node could not write the pod's own files."""
    failed = evidence.last_event("FailedToMakePodDataDirectories")
    if failed is None or any(s.state.running or s.last_state.terminated for s in all_statuses(evidence.pod)):
        return None
    return Explanation(
        area="node",
        reason=failed.reason or "",
        text=f"The node cannot write the pod's files: {(failed.message or '').rstrip('.')}.",
        advice="Make room on the node's disk; the pod then goes on by itself: df -h",
        evidence=(event_source(failed),),
    )

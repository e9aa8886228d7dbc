"""Messages about a pod without a feasible node, letter for letter as Kubernetes has them."""

from __future__ import annotations

from collections.abc import Mapping

NO_NODES = "no nodes available to schedule pods"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"
NEVER_PREEMPTS = "not eligible due to preemptionPolicy=Never."
VICTIM_STILL_GOING = "not eligible due to a terminating pod on the nominated node."

ACTIONS = {"FailedScheduling": "Scheduling", "Scheduled": "Binding", "Preempted": "Preempting"}
"""The action of the scheduler's events, by their reason."""

EVENT_LENGTH_MAX = 1024
_CUT = " ..."


def fit_error(total: int, reasons: Mapping[str, int], *, hopeless: str = "", preemption: str = "") -> str:
    """``0/N nodes are available: ...``, with the reasons sorted as text, count and all.

    ``hopeless`` replaces the reasons when no node had to be looked at; ``preemption`` is appended.
    """
    parts = [f"0/{total} nodes are available:"]
    if hopeless:
        parts.append(f"{hopeless}.")
    elif reasons:
        parts.append(", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items())) + ".")
    if preemption:
        parts.append(preemption)
    return " ".join(parts)


def not_in_candidates(plugins: list[str]) -> str:
    """Return the reason of nodes that a plugin ruled out before any filter saw them."""
    return f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(plugins))}]"


def truncated(message: str) -> str:
    """Return the message as an event may carry it, cut to bytes; the condition keeps the whole text."""
    encoded = message.encode()
    if len(encoded) <= EVENT_LENGTH_MAX:
        return message
    # A character of several bytes is dropped rather than cut in two.
    return encoded[: EVENT_LENGTH_MAX - len(_CUT)].decode(errors="ignore") + _CUT


def assigned(namespace: str, name: str, node: str) -> str:
    return f"Successfully assigned {namespace}/{name} to {node}"


def no_victims_on(node: str) -> str:
    """Return the error of a node where preemption would evict no pod."""
    return f'expected at least one victim pod on node "{node}"'


def preempting(scheduler_name: str) -> str:
    return f"{scheduler_name}: preempting to accommodate a higher priority pod"


def preempted(preemptor_uid: str, node: str) -> str:
    return f"Preempted by pod {preemptor_uid} on node {node}"

"""The conditions of an autoscaler. Pure.

Upstream: ``recommender/model/vpa.go``, ``recommender/input/cluster_feeder.go``.
"""

from __future__ import annotations

from datetime import datetime

from podling.machinery.conditions import transition_time
from podling_vpa.names import DEPRECATED, NO_PODS, PROVIDED, UNSUPPORTED
from podling_vpa.types import AutoscalerCondition

NO_PODS_TEXT = "No pods match this VPA object"


def conditions_of(
    held: tuple[AutoscalerCondition, ...],
    *,
    unsupported: str,
    has_pods: bool,
    has_recommendation: bool,
    now: datetime,
) -> tuple[AutoscalerCondition, ...]:
    """Return the conditions in the order of their types.

    Args:
        unsupported: why the target cannot be used; empty if it can.
    """
    found = {each.type: each for each in held if each.type != DEPRECATED}

    def put(kind: str, status: str, reason: str = "", message: str = "") -> None:
        since = transition_time(found.get(kind), status, now)
        found[kind] = AutoscalerCondition(
            type=kind, status=status, reason=reason, message=message, last_transition_time=since
        )

    if unsupported:
        put(UNSUPPORTED, "True", message=unsupported)
    else:
        found.pop(UNSUPPORTED, None)
    reason, message = ("", "") if has_pods else (NO_PODS, NO_PODS_TEXT)
    if has_pods:
        found.pop(NO_PODS, None)
    else:
        put(NO_PODS, "True", reason, message)
    if has_recommendation:
        put(PROVIDED, "True")
    else:
        put(PROVIDED, "False", reason, message)
    return tuple(found[kind] for kind in sorted(found))

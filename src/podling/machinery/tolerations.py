"""Taints that a toleration tolerates: the scheduler, the controllers and the kubelet must agree on it.

Upstream: ``component-helpers/scheduling/corev1/helpers.go``, ``Toleration.ToleratesTaint``.
"""

from __future__ import annotations

from podling.api.core_v1 import Taint, Toleration


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Return whether this toleration tolerates ``taint``."""
    return covers(toleration, taint.key, taint.value or "", taint.effect)


def covers(toleration: Toleration, key: str, value: str, effect: str) -> bool:
    """``tolerates``, of a taint in its parts. An empty key or effect of the toleration matches any."""
    if toleration.effect and toleration.effect != effect:
        return False
    if toleration.key and toleration.key != key:
        return False
    match toleration.operator or "Equal":
        case "Exists":
            return True
        case "Equal":
            return bool(toleration.key) and (toleration.value or "") == value
        case _:
            return False

"""Types of update strategies, and the policies for pods, which all workloads share. Pure.

A manifest may name a policy as the type of its strategy: OpenKruise's first documentation, and articles after
it, write ``updateStrategy.type: InPlaceIfPossible`` for every workload.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podling_kruise.names import IN_PLACE_UPDATE_READY

RECREATE, IF_POSSIBLE, ONLY = "ReCreate", "InPlaceIfPossible", "InPlaceOnly"
POLICIES = (RECREATE, IF_POSSIBLE, ONLY)
IN_PLACE = (IF_POSSIBLE, ONLY)
ROLLING_UPDATE, ON_DELETE = "RollingUpdate", "OnDelete"


def as_rolling(strategy: Mapping[str, Any], field: str, names: Mapping[str, str]) -> dict[str, Any]:
    """Return a strategy whose type is a policy as a rolling update; any other as it is.

    Args:
        field: the field of the rolling update that holds the policy.
        names: the kind's own names of policies.
    """
    policy = strategy.get("type")
    if policy not in POLICIES:
        return dict(strategy)
    rolling = {**(strategy.get("rollingUpdate") or {}), field: names.get(policy, policy)}
    return {**strategy, "type": ROLLING_UPDATE, "rollingUpdate": rolling}


def with_gate_in(template: Any) -> Any:
    """Return a plain template with the readiness gate of in-place updates."""
    spec = template.get("spec") if isinstance(template, dict) else None
    if not isinstance(spec, dict):
        return template
    gates = spec.get("readinessGates") or []
    gate = {"conditionType": IN_PLACE_UPDATE_READY}
    if not isinstance(gates, list) or gate in gates:
        return template
    return {**template, "spec": {**spec, "readinessGates": [*gates, gate]}}

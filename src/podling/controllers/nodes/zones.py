"""The rate of evictions from a zone's nodes, by the share of the zone that is down. Pure.

When a whole zone stops its heartbeats, a network failure is more likely than the loss of all machines: the
more of the cluster is down, the fewer nodes are evicted. A zone with most nodes down is emptied
slowly, or not at all when it is small; if *every* zone is down, nothing is evicted.

Upstream: ``handleDisruption`` and ``ComputeZoneState`` in ``pkg/controller/nodelifecycle``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import msgspec
from msgspec import Struct

from podling.api.core_v1 import Node
from podling.controllers.options import ControllerOptions

EXCLUDE_LABEL = "node.kubernetes.io/exclude-disruption"


class ZoneState(Enum):
    INITIAL = "Initial"
    NORMAL = "Normal"
    PARTIAL = "PartialDisruption"
    FULL = "FullDisruption"


class Rates(Struct, frozen=True):
    """Nodes per second that may be tainted, and when that changes (kube-controller-manager's defaults)."""

    normal: float = 0.1
    secondary: float = 0.01
    large_cluster_size: int = 50
    unhealthy_threshold: float = 0.55

    @staticmethod
    def of(options: ControllerOptions) -> Rates:
        """Return the rates that the user has set."""
        return Rates(
            options.node_eviction_rate,
            options.secondary_node_eviction_rate,
            options.large_cluster_size_threshold,
            options.unhealthy_zone_threshold,
        )


def zone_of(node: Node) -> str:
    """The zone a node is in, region included; empty if it has neither label."""
    labels = node.metadata.labels
    region = labels.get("topology.kubernetes.io/region") or labels.get(
        "failure-domain.beta.kubernetes.io/region", ""
    )
    zone = labels.get("topology.kubernetes.io/zone") or labels.get(
        "failure-domain.beta.kubernetes.io/zone", ""
    )
    return f"{region}:\x00:{zone}" if region or zone else ""


def is_excluded(node: Node) -> bool:
    """Return whether the node is left out when the state of its zone is judged."""
    return EXCLUDE_LABEL in node.metadata.labels


def zone_state(ready: Sequence[bool], rates: Rates) -> ZoneState:
    """Return the state of a zone whose nodes are ``ready`` or not."""
    not_ready = ready.count(False)
    if not_ready and not_ready == len(ready):
        return ZoneState.FULL
    if not_ready > 2 and not_ready / len(ready) >= rates.unhealthy_threshold:
        return ZoneState.PARTIAL
    return ZoneState.NORMAL


def rate_of(state: ZoneState, size: int, rates: Rates) -> float:
    """Nodes per second that may be tainted in a zone of ``size`` nodes."""
    if state is ZoneState.PARTIAL:
        return rates.secondary if size > rates.large_cluster_size else 0.0
    return rates.normal


class Verdict(Struct, frozen=True):
    """The consequences of the zones' states.

    ``rates`` holds the zones with a new rate; ``stop`` removes all NoExecute taints, ``resume`` counts every
    node as healthy from now on.
    """

    states: Mapping[str, ZoneState]
    rates: Mapping[str, float] = msgspec.field(default_factory=dict)
    stop: bool = False
    resume: bool = False


def judge(before: Mapping[str, ZoneState], zones: Mapping[str, Sequence[bool]], rates: Rates) -> Verdict:
    """From the states of the last look to those of this one; ``zones``: which nodes are ready, by zone."""
    new = {zone: zone_state(ready, rates) for zone, ready in zones.items()}
    all_are = all(state is ZoneState.FULL for state in new.values())
    all_were = all(before.get(zone, ZoneState.INITIAL) is ZoneState.FULL for zone in new)
    if all_are and all_were:
        return Verdict(new)
    if all_are:
        return Verdict(new, dict.fromkeys(new, 0.0), stop=True)
    changed = {
        zone: rate_of(state, len(zones[zone]), rates)
        for zone, state in new.items()
        if all_were or state is not before.get(zone, ZoneState.INITIAL)
    }
    return Verdict(new, changed, resume=all_were)


@dataclass(slots=True)
class TaintQueue:
    """The nodes of one zone that wait to be tainted, at most ``rate`` per second; the first at once."""

    rate: float
    waiting: dict[str, None] = field(default_factory=dict)
    _tokens: float = 1.0
    _at: float = 0.0

    def add(self, node: str) -> None:
        """Let ``node`` wait; one that waits already keeps its place."""
        self.waiting.setdefault(node)

    def forget(self, node: str) -> None:
        self.waiting.pop(node, None)

    def set_rate(self, rate: float, now: float) -> None:
        """A changed rate begins with a token if the old one had one to give, else without."""
        if rate != self.rate:
            tokens = 0.0 if self.seconds_to_token(now) > 0 else 1.0
            self.rate, self._tokens, self._at = rate, tokens, now

    def take(self, now: float) -> str | None:
        """Return the next node if one waits and the rate allows it at ``now`` (monotonic seconds)."""
        if not self.waiting or self.seconds_to_token(now) > 0:
            return None
        self._tokens -= 1.0
        node = next(iter(self.waiting))
        del self.waiting[node]
        return node

    def seconds_to_token(self, now: float) -> float:
        """Return the seconds until the rate allows another node; infinite at rate 0."""
        if self.rate <= 0:
            return float("inf")
        self._tokens = min(1.0, self._tokens + (now - self._at) * self.rate)
        self._at = now
        # A hair less than a whole token is one: the wait for it was rounded.
        return 0.0 if self._tokens > 1.0 - 1e-9 else (1.0 - self._tokens) / self.rate

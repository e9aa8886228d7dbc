"""The next step of a DaemonSet's rolling update. Pure.

Updates replace old pods within ``maxUnavailable``, or first put new ones beside them within ``maxSurge``.
Old pods on nodes that should not run the pod any more, but may keep it, are part of this: without a surge
they are deleted like all others, and nothing is made in their place; during one they stay until there are as
many available pods elsewhere as the DaemonSet should have.

Upstream: ``update.go`` in ``pkg/controller/daemon``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from podling.api.core_v1 import Node, Pod
from podling.controllers.pod_state import is_available
from podling.controllers.workloads.daemonset_rules import (
    DaemonOwner,
    Plan,
    belongs,
    is_deleting,
    is_updated,
    max_surge,
    never,
)
from podling.controllers.workloads.int_or_percent import scaled


def max_unavailable(daemon_set: DaemonOwner, wanted: int) -> int:
    """Return the number of nodes that may lack an available pod, without the fallback to one."""
    rolling = daemon_set.spec.update_strategy.rolling_update
    given = rolling.max_unavailable if rolling is not None else None
    if given is None and max_surge(daemon_set, wanted) == 0:
        return 1
    return scaled(given, wanted, round_up=True)


class Place(Struct, frozen=True):
    """A node, its old and its new pod, and what is known of them.

    ``excess``: it has several pods of a kind; they are removed before the update goes on.
    """

    node: str
    old: Pod | None
    new: Pod | None
    excess: bool
    run: bool
    old_available: bool
    new_available: bool


def _all(places: list[Place]) -> list[Place]:
    return places


def update(
    daemon_set: DaemonOwner,
    nodes: Sequence[Node],
    pods: Mapping[str, list[Pod]],
    revision: str,
    now: datetime,
    *,
    chosen: Callable[[list[Place]], list[Place]] = _all,
    is_leaving: Callable[[Pod], bool] = never,
) -> Plan:
    """Return the next step of a rolling update.

    Args:
        chosen: the places that the update considers.
        is_leaving: selects living pods whose deletion has begun in the extension's own way.
    """
    if daemon_set.spec.update_strategy.type == "OnDelete":
        return Plan()
    wanted = {name for each in nodes if belongs(daemon_set, each).run and (name := each.metadata.name)}
    names = list(dict.fromkeys([*(each.metadata.name or "" for each in nodes), *pods]))
    places = [
        _place(daemon_set, name, pods.get(name, []), revision, now, run=name in wanted, is_leaving=is_leaving)
        for name in names
        if name in wanted or name in pods
    ]
    places = chosen(places)
    surge, unavailable = max_surge(daemon_set, len(wanted)), max_unavailable(daemon_set, len(wanted))
    if surge == 0:
        return _replace(places, unavailable if unavailable > 0 or not wanted else 1)
    return _surge(places, surge, len(wanted))


def _place(
    daemon_set: DaemonOwner,
    node: str,
    present: Sequence[Pod],
    revision: str,
    now: datetime,
    *,
    run: bool,
    is_leaving: Callable[[Pod], bool],
) -> Place:
    """Return a node as seen. An old pod that leaves is as good as gone; a new one counts as unavailable."""
    living = [pod for pod in present if not is_deleting(pod)]
    old = [pod for pod in living if not is_updated(daemon_set, pod, revision) and not is_leaving(pod)]
    new = [pod for pod in living if is_updated(daemon_set, pod, revision)]
    least = daemon_set.spec.min_ready_seconds or 0

    def available(found: list[Pod]) -> bool:
        return bool(found) and not is_leaving(found[0]) and is_available(found[0], least, now)

    return Place(
        node,
        old[0] if old else None,
        new[0] if new else None,
        len(old) > 1 or len(new) > 1,
        run,
        available(old),
        available(new),
    )


def _replace(places: Sequence[Place], unavailable: int) -> Plan:
    """Delete old pods so that others can be made: those that are of no use anyway, then some more."""
    missing, useless, candidates = 0, [], []
    for place in places:
        if place.excess or (place.old is None) == (place.new is None):
            missing += 1
        elif place.old is None:
            missing += not place.new_available
        elif place.old_available:
            candidates.append(place.old)
        else:
            useless.append(place.old)
            missing += 1
    return Plan(delete=[*useless, *candidates[: max(0, unavailable - missing)]])


def _surge(places: Sequence[Place], surge: int, wanted: int) -> Plan:
    """Make new pods beside old ones; an old one goes once its successor is available."""
    result, running, available = Plan(), 0, 0
    candidates: list[str] = []
    misplaced: list[Pod] = []
    for place in places:
        if place.excess:
            running += 1
            continue
        available += place.old_available if place.old is not None else place.new_available
        if place.old is None:
            continue
        if place.new is not None:
            if place.new_available:
                result.delete.append(place.old)
            else:
                running += 1
        elif not place.run:
            (misplaced if place.old_available else result.delete).append(place.old)
        elif place.old_available:
            candidates.append(place.node)
        else:
            result.create.append(place.node)
    result.delete += misplaced[: max(0, available - wanted)]
    result.create += candidates[: max(0, surge - running)]
    return result

"""The nodes whose daemon pods are created or updated next. Pure.

Upstream: ``filterDaemonPodsNodeToUpdate`` and ``GetNodesNeedingPods`` of ``pkg/controller/daemonset``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import Node, Pod
from podling.controllers.workloads.daemonset_rules import Plan, belongs, is_deleting, is_updated
from podling.controllers.workloads.daemonset_update_rules import Place, update
from podling.controllers.workloads.int_or_percent import scaled
from podling.controllers.workloads.revisions import REVISION_LABEL
from podling.machinery.selectors import readable_selector
from podling_kruise.daemonset.types import BURST, DaemonSet, DaemonSetSpec
from podling_kruise.inplace.pod_plan import has_readiness_gate
from podling_kruise.lifecycle import PREPARING_DELETE, state_of
from podling_kruise.policies import ON_DELETE


def is_leaving(pod: Pod) -> bool:
    """Return whether a hook holds the pod back from its deletion."""
    return state_of(pod) == PREPARING_DELETE


def burst_of(owner: DaemonSet, desired: int) -> int:
    """Return the number of pods that one run creates, deletes or updates."""
    given = owner.spec.burst_replicas
    return scaled(BURST if given is None else given, desired, round_up=False)


def partition_of(spec: DaemonSetSpec, desired: int) -> int:
    """Return the number of nodes whose pods keep the old revision. Raises ``ValueError``."""
    return scaled(spec.rolling.partition, desired, round_up=False)


def desired_nodes(owner: DaemonSet, nodes: Sequence[Node]) -> set[str]:
    return {name for each in nodes if belongs(owner, each).run and (name := each.metadata.name)}


def limited_creations(
    owner: DaemonSet,
    create: Sequence[str],
    nodes: Sequence[Node],
    pods: Mapping[str, list[Pod]],
    revision: str,
) -> list[str]:
    """Return the nodes that get a pod now; partitioned scaling leaves those of the partition without one."""
    scale, desired = owner.spec.scale_strategy, desired_nodes(owner, nodes)
    partition = partition_of(owner.spec, len(desired))
    if owner.spec.update_strategy.type == ON_DELETE or partition == 0:
        return list(create)
    if scale is None or not scale.partitioned_scaling:
        return sorted(create)
    names = (each.metadata.name or "" for each in nodes)
    new = sum(_has_new(owner, pods.get(name, ()), revision) for name in names)
    most = max(len(desired) - new - max(min(partition, len(desired)), 0), 0)
    return sorted(create)[:most]


def _has_new(owner: DaemonSet, present: Sequence[Pod], revision: str) -> bool:
    return any(is_updated(owner, pod, revision) for pod in present if not is_deleting(pod))


def next_update(
    owner: DaemonSet,
    nodes: Sequence[Node],
    pods: Mapping[str, list[Pod]],
    revision: str,
    now: datetime,
) -> Plan:
    """Return the next step of a rolling update: as many nodes as are outside of the partition, and selected.

    Nodes that are updated already count first, the last by name before the others.
    """
    if owner.spec.update_strategy.type == ON_DELETE or owner.spec.rolling.paused:
        return Plan()
    known = {node.metadata.name or "": node for node in nodes}
    selector = owner.spec.rolling.selector
    chosen_nodes = readable_selector(selector) if selector is not None else None
    partition = partition_of(owner.spec, len(desired_nodes(owner, nodes)))

    def chosen(places: list[Place]) -> list[Place]:
        held = sorted((each for each in places if each.node in known), key=lambda each: each.node)
        held.reverse()
        done = [each for each in held if each.excess or each.new is not None]
        under_way = [each for each in held if each not in done and each.old is None]
        waiting = [each for each in held if each not in done and each not in under_way]
        if selector is not None:
            waiting = [
                each
                for each in waiting
                if chosen_nodes is not None and chosen_nodes.matches(known[each.node].metadata.labels)
            ]
        return [*done, *under_way, *waiting][: max(0, len(held) - partition)]

    return update(owner, nodes, pods, revision, now, chosen=chosen, is_leaving=is_leaving)


def own_revision(pod: Pod, revisions: Sequence[ControllerRevision]) -> ControllerRevision | None:
    """Return the revision of the pod; None if it is unknown, or the pod has no gate for in-place updates."""
    if not has_readiness_gate(pod):
        return None
    digest = pod.metadata.labels.get(REVISION_LABEL, "")
    return next((each for each in revisions if each.metadata.labels.get(REVISION_LABEL) == digest), None)

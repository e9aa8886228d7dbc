"""The nodes that run a DaemonSet's pod, and the pods to create, delete and replace. Pure.

A node runs the pod if it matches the pod's node selector and required affinity, and the pod tolerates its
taints; a pod that is there already may stay as long as it tolerates the NoExecute ones.

Upstream: ``daemon_controller.go`` in ``pkg/controller/daemon``.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from msgspec import Struct, structs

from podling.api.apps_v1 import ControllerRevision, DaemonSet, DaemonSetStatus
from podling.api.core_v1 import (
    Affinity,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodSpec,
    PodTemplateSpec,
    Taint,
    Toleration,
)
from podling.client.base import ApiObject
from podling.controllers.nodes import taints
from podling.controllers.nodes.node_matching import NODE_NAME_FIELD, selects_node
from podling.controllers.pod_state import is_available
from podling.controllers.workloads.int_or_percent import scaled
from podling.controllers.workloads.pod_control import pod_from_template
from podling.controllers.workloads.revisions import REVISION_LABEL, by_number
from podling.machinery.pods import TEMPLATE_GENERATION, is_ready, is_terminal

_TOLERATED = (
    (taints.NOT_READY, taints.NO_EXECUTE),
    (taints.UNREACHABLE, taints.NO_EXECUTE),
    (taints.DISK_PRESSURE, taints.NO_SCHEDULE),
    (taints.MEMORY_PRESSURE, taints.NO_SCHEDULE),
    (taints.PID_PRESSURE, taints.NO_SCHEDULE),
    (taints.UNSCHEDULABLE, taints.NO_SCHEDULE),
)


class DaemonRollingUpdate(Protocol):
    @property
    def max_surge(self) -> int | str | None: ...

    @property
    def max_unavailable(self) -> int | str | None: ...


class DaemonStrategy(Protocol):
    @property
    def type(self) -> str: ...

    @property
    def rolling_update(self) -> DaemonRollingUpdate | None: ...


class DaemonSpec(Protocol):
    """The fields of a spec that decide where pods are, and how they are replaced."""

    @property
    def template(self) -> PodTemplateSpec: ...

    @property
    def min_ready_seconds(self) -> int: ...

    @property
    def update_strategy(self) -> DaemonStrategy: ...


class DaemonOwner(ApiObject, Protocol):
    """A DaemonSet: the built-in kind, or an extension's kind with the same fields."""

    @property
    def spec(self) -> DaemonSpec: ...


def never(pod: Pod) -> bool:
    return False


# Placement


GENERATION_LABEL = "pod-template-generation"


def daemon_spec(spec: PodSpec) -> PodSpec:
    """Return a template's spec with the tolerations that every daemon pod gets.

    One that differs from such a toleration in its seconds only is replaced by it: a daemon pod stays on a
    node that is not ready. Source: ``AddOrUpdateTolerationInPodSpec``.
    """
    wanted = [*_TOLERATED, *([(taints.NETWORK_UNAVAILABLE, taints.NO_SCHEDULE)] if spec.host_network else [])]
    tolerations = spec.tolerations
    for key, effect in wanted:
        added = Toleration(key=key, operator="Exists", effect=effect)
        same = [structs.replace(each, toleration_seconds=None) == added for each in tolerations]
        merged = [added if is_same else each for each, is_same in zip(tolerations, same, strict=True)]
        tolerations = (*merged, *(() if any(same) else (added,)))
    return structs.replace(spec, tolerations=tolerations)


def pod_for(daemon_set: DaemonOwner, node: str, revision_hash: str) -> Pod:
    """Return the pod for one node: only its name decides where the scheduler puts it."""
    pod = pod_from_template(daemon_set.spec.template, daemon_set)
    spec = placed_on(daemon_spec(pod.spec), node)
    labels = {**pod.metadata.labels, REVISION_LABEL: revision_hash}
    if (generation := daemon_set.metadata.annotations.get(TEMPLATE_GENERATION)) is not None:
        labels[GENERATION_LABEL] = generation
    return structs.replace(pod, spec=spec, metadata=structs.replace(pod.metadata, labels=labels))


def placed_on(spec: PodSpec, node: str) -> PodSpec:
    """Return the spec with a required affinity to one node in place of that to others."""
    requirement = NodeSelectorRequirement(key=NODE_NAME_FIELD, operator="In", values=(node,))
    terms = (NodeSelectorTerm(match_fields=(requirement,)),)
    affinity = spec.affinity or Affinity()
    placed = structs.replace(
        affinity.node_affinity or NodeAffinity(),
        required_during_scheduling_ignored_during_execution=NodeSelector(node_selector_terms=terms),
    )
    return structs.replace(spec, affinity=structs.replace(affinity, node_affinity=placed))


def node_of(pod: Pod) -> str:
    """The node a daemon pod is on, or is meant for."""
    if pod.spec.node_name:
        return pod.spec.node_name
    required = pod.spec.affinity and pod.spec.affinity.node_affinity
    selector = required.required_during_scheduling_ignored_during_execution if required else None
    for term in selector.node_selector_terms if selector else ():
        for each in term.match_fields:
            if each.key == NODE_NAME_FIELD and each.operator == "In" and len(each.values) == 1:
                return each.values[0]
    return ""


class Belongs(Struct, frozen=True):
    """The verdict on a node: it should run the pod, and an existing pod may stay."""

    run: bool
    stay: bool


def belongs(daemon_set: DaemonOwner, node: Node) -> Belongs:
    spec = daemon_spec(daemon_set.spec.template.spec)
    if spec.node_name and spec.node_name != node.metadata.name:
        return Belongs(False, False)
    if not selects(spec, node):
        return Belongs(False, False)
    if tolerates(spec, node.spec.taints, (taints.NO_SCHEDULE, taints.NO_EXECUTE)):
        return Belongs(True, True)
    return Belongs(False, tolerates(spec, node.spec.taints, (taints.NO_EXECUTE,)))


def tolerates(spec: PodSpec, present: Sequence[Taint], effects: tuple[str, ...]) -> bool:
    """Return whether a pod tolerates all of these taints that have one of the effects."""
    relevant = [taint for taint in present if taint.effect in effects]
    return taints.matching_tolerations(relevant, spec.tolerations) is not None


def selects(spec: PodSpec, node: Node) -> bool:
    """Return whether the node has what a pod's node selector and required affinity name."""
    if not spec.node_selector.items() <= node.metadata.labels.items():
        return False
    affinity = spec.affinity.node_affinity if spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    return selects_node(required, node)


# Creations and deletions


@dataclass(slots=True)
class Plan:
    """Nodes that need a pod, and pods that must go; ``failed`` of them have ended badly."""

    create: list[str] = field(default_factory=list)
    delete: list[Pod] = field(default_factory=list)
    failed: list[Pod] = field(default_factory=list)
    succeeded: list[Pod] = field(default_factory=list)


def by_node(pods: Sequence[Pod]) -> dict[str, list[Pod]]:
    """Return pods by node, bound ones first, then by age.

    Pods that are being deleted and have ended are left out, and pods that are meant for no node.
    """
    found: dict[str, list[Pod]] = {}
    for pod in sorted(pods, key=lambda pod: (not pod.spec.node_name, _age(pod))):
        node = node_of(pod)
        if node and (pod.metadata.deletion_timestamp is None or not is_terminal(pod)):
            found.setdefault(node, []).append(pod)
    return found


def _age(pod: Pod) -> tuple[datetime, str]:
    created = pod.metadata.creation_timestamp
    assert created is not None, "the API server gives every object its time of creation"
    return created, pod.metadata.name or ""


def plan(
    daemon_set: DaemonOwner,
    nodes: Sequence[Node],
    pods: Mapping[str, list[Pod]],
    revision: str,
    now: datetime,
    is_leaving: Callable[[Pod], bool] = never,
) -> Plan:
    """Return the creations and deletions for every node; updates are not considered.

    Args:
        is_leaving: selects living pods whose deletion has begun in the extension's own way.
    """
    result = Plan()
    for node in nodes:
        name = node.metadata.name or ""
        present, should = pods.get(name, []), belongs(daemon_set, node)
        staying = [pod for pod in present if not is_leaving(pod)]
        result.delete += [pod for pod in present if is_leaving(pod) and not is_deleting(pod)]
        if present and not staying:  # the successor waits until the pod is gone
            continue
        _plan_node(daemon_set, should, name, staying, result, revision, now)
    known = {node.metadata.name for node in nodes}
    for name, present in pods.items():
        if name not in known:  # what was never bound goes with its node; the rest is pod collection's
            result.delete += [pod for pod in present if not pod.spec.node_name and not is_deleting(pod)]
    return result


def _plan_node(
    daemon_set: DaemonOwner,
    should: Belongs,
    node: str,
    present: list[Pod],
    result: Plan,
    revision: str,
    now: datetime,
) -> None:
    if not should.stay:
        result.delete += [pod for pod in present if not is_deleting(pod)]
        return
    if should.run and not present:
        result.create.append(node)
        return
    living: list[Pod] = []
    for pod in present:
        if is_deleting(pod):
            continue
        if pod.status.phase == "Failed":
            result.failed.append(pod)
        elif pod.status.phase == "Succeeded":
            result.succeeded.append(pod)
        else:
            living.append(pod)
    if not max_surge(daemon_set, 1):
        result.delete += living[1:]
        return
    if not living and should.run:
        result.create.append(node)
        return
    # During a surge an old and a new pod may stand side by side; of each kind the oldest stays. The old one
    # is of no use once it is not ready any more, or the new one is available.
    old = [pod for pod in living if not has_revision(pod, revision)]
    new = [pod for pod in living if has_revision(pod, revision)]
    least = daemon_set.spec.min_ready_seconds or 0
    replaced = old and new and (not is_ready(old[0]) or is_available(new[0], least, now))
    result.delete += [*old[1:], *new[1:], *(old[:1] if replaced else [])]


def is_deleting(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None


def has_revision(pod: Pod, revision: str) -> bool:
    return pod.metadata.labels.get(REVISION_LABEL) == revision


def is_updated(daemon_set: DaemonOwner, pod: Pod, revision: str) -> bool:
    """Return whether the pod is of the present template, by its revision or by the template's generation."""
    generation = daemon_set.metadata.annotations.get(TEMPLATE_GENERATION)
    labels = pod.metadata.labels
    return has_revision(pod, revision) or (
        generation is not None and labels.get(GENERATION_LABEL) == generation
    )


def max_surge(daemon_set: DaemonOwner, wanted: int) -> int:
    rolling = daemon_set.spec.update_strategy.rolling_update
    if daemon_set.spec.update_strategy.type == "OnDelete" or rolling is None:
        return 0
    return scaled(rolling.max_surge, wanted, round_up=True)


# Status


class Counts(Struct, frozen=True):
    """The nodes that should have a pod, and what they have; ``misscheduled``: nodes that should have none."""

    desired: int = 0
    current: int = 0
    misscheduled: int = 0
    ready: int = 0
    updated: int = 0
    available: int = 0


def counts_of(
    daemon_set: DaemonOwner,
    nodes: Sequence[Node],
    pods: Mapping[str, list[Pod]],
    revision: str,
    now: datetime,
) -> Counts:
    """Return what there is; of several pods on a node the oldest counts."""
    desired = current = misplaced = ready = available = updated = 0
    for node in nodes:
        present = pods.get(node.metadata.name or "", [])
        if not belongs(daemon_set, node).run:
            misplaced += bool(present)
            continue
        desired += 1
        if not present:
            continue
        current += 1
        first = present[0]
        ready += is_ready(first)
        available += is_available(first, daemon_set.spec.min_ready_seconds or 0, now)
        updated += is_updated(daemon_set, first, revision)
    return Counts(desired, current, misplaced, ready, updated, available)


def status_of(
    daemon_set: DaemonSet,
    nodes: Sequence[Node],
    pods: Mapping[str, list[Pod]],
    revision: str,
    collisions: int,
    now: datetime,
) -> DaemonSetStatus:
    found = counts_of(daemon_set, nodes, pods, revision, now)
    return structs.replace(
        daemon_set.status,
        observed_generation=daemon_set.metadata.generation,
        desired_number_scheduled=found.desired,
        current_number_scheduled=found.current,
        number_misscheduled=found.misscheduled,
        number_ready=found.ready,
        updated_number_scheduled=found.updated,
        number_available=found.available,
        number_unavailable=max(0, found.desired - found.available),
        collision_count=collisions or None,
    )


# History


def surplus_revisions(
    old: Sequence[ControllerRevision], live: Container[str], limit: int | None
) -> list[ControllerRevision]:
    """Return the oldest revisions beyond the history that is kept, besides those that pods have.

    All earlier revisions count, also those that pods have.
    """
    most = 10 if limit is None else limit
    unused = [each for each in by_number(old) if each.metadata.name not in live]
    return unused[: max(0, len(old) - most)]

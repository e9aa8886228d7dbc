"""What a stateful set does next: its pods, one by one and in order. Pure.

With ``OrderedReady`` a pod is created only when all before it are running and available, and deleted only
when all after it are gone; at most one thing happens at a time. With ``Parallel`` everything that is
missing or too much happens at once; only updates still go from the highest ordinal down.

Upstream: ``stateful_set_control.go`` and ``stateful_set_utils.go`` in ``pkg/controller/statefulset``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from msgspec import structs

from podling.api.apps_v1 import ControllerRevision, StatefulSet, StatefulSetStatus
from podling.api.core_v1 import PersistentVolumeClaimVolumeSource, Pod, PodTemplateSpec, Volume
from podling.controllers.int_or_percent import scaled
from podling.controllers.pod_control import pod_from_template
from podling.controllers.pod_state import is_available
from podling.controllers.revisions import REVISION_LABEL
from podling.machinery.pods import is_ready

POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"


def replicas_of(stateful: StatefulSet) -> int:
    return 1 if stateful.spec.replicas is None else stateful.spec.replicas


def ordinals(stateful: StatefulSet) -> range:
    """The ordinals that the set's pods should have."""
    first = stateful.spec.ordinals.start or 0 if stateful.spec.ordinals is not None else 0
    return range(first, first + replicas_of(stateful))


def ordinal_of(stateful: StatefulSet, pod: Pod) -> int | None:
    """The pod's ordinal by its name, or None if it is no member's name."""
    parent, _, number = (pod.metadata.name or "").rpartition("-")
    if parent != stateful.metadata.name or not (number.isascii() and number.isdigit()):
        return None
    return int(number)


def is_parallel(stateful: StatefulSet) -> bool:
    return stateful.spec.pod_management_policy == "Parallel"


def revision_of(pod: Pod) -> str:
    return pod.metadata.labels.get(REVISION_LABEL, "")


def is_terminating(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None


def is_running(pod: Pod) -> bool:
    return pod.status.phase == "Running" and is_ready(pod)


# A member


def claim_name(template: str, stateful: StatefulSet, ordinal: int) -> str:
    return f"{template}-{stateful.metadata.name}-{ordinal}"


def member(stateful: StatefulSet, template: PodTemplateSpec, revision: str, ordinal: int) -> Pod:
    """The pod with this ordinal, as ``template`` makes it."""
    pod = pod_from_template(template, stateful)
    metadata = structs.replace(
        pod.metadata, generate_name=None, labels={**pod.metadata.labels, REVISION_LABEL: revision}
    )
    return with_identity(stateful, structs.replace(pod, metadata=metadata), ordinal)


def with_identity(stateful: StatefulSet, pod: Pod, ordinal: int) -> Pod:
    """``pod`` with the name, labels, host name and claims that belong to an ordinal."""
    name = f"{stateful.metadata.name}-{ordinal}"
    labels = {**pod.metadata.labels, POD_NAME: name, POD_INDEX: str(ordinal)}
    metadata = structs.replace(pod.metadata, name=name, namespace=stateful.metadata.namespace, labels=labels)
    claimed = tuple(
        Volume(
            name=each.metadata.name or "",
            persistent_volume_claim=PersistentVolumeClaimVolumeSource(
                claim_name=claim_name(each.metadata.name or "", stateful, ordinal)
            ),
        )
        for each in stateful.spec.volume_claim_templates
    )
    names = {each.name for each in claimed}
    others = tuple(each for each in pod.spec.volumes if each.name not in names)
    spec = structs.replace(
        pod.spec,
        hostname=name,
        subdomain=stateful.spec.service_name or None,
        volumes=(*claimed, *others),
    )
    return structs.replace(pod, metadata=metadata, spec=spec)


def has_identity(pod: Pod, ordinal: int) -> bool:
    """Whether a live pod carries the labels of its ordinal; the rest of its identity cannot change."""
    labels = pod.metadata.labels
    return labels.get(POD_NAME) == pod.metadata.name and labels.get(POD_INDEX) == str(ordinal)


# What to do


@dataclass(frozen=True, slots=True)
class Create:
    ordinal: int
    revision: ControllerRevision


@dataclass(frozen=True, slots=True)
class Delete:
    pod: Pod
    terminal: bool = False
    """It has ended by itself and is to be made anew."""


@dataclass(frozen=True, slots=True)
class Relabel:
    """Give a pod the labels of its ordinal."""

    pod: Pod
    ordinal: int


Action = Create | Delete | Relabel


@dataclass(frozen=True, slots=True)
class View:
    """A stateful set with its pods and the two revisions it may be between."""

    stateful: StatefulSet
    pods: Sequence[Pod]
    current: ControllerRevision
    update: ControllerRevision
    now: datetime

    @property
    def members(self) -> dict[int, Pod]:
        found = ((ordinal_of(self.stateful, pod), pod) for pod in self.pods)
        return {each: pod for each, pod in found if each is not None and each in self.wanted}

    @property
    def wanted(self) -> range:
        return ordinals(self.stateful)

    @property
    def condemned(self) -> list[Pod]:
        """Pods whose ordinal is not wanted, the highest first."""
        known = [(ordinal_of(self.stateful, pod), pod) for pod in self.pods]
        extra = [(each, pod) for each, pod in known if each is not None and each not in self.wanted]
        return [pod for _, pod in sorted(extra, key=lambda pair: pair[0], reverse=True)]

    def is_available(self, pod: Pod) -> bool:
        least = self.stateful.spec.min_ready_seconds or 0
        return is_running(pod) and is_available(pod, least, self.now)


def plan(view: View) -> list[Action]:
    """What to do now; one thing at most in ordered mode."""
    actions, settled = _living(view)
    if not settled:
        return actions
    removals, settled = _condemned(view)
    actions += removals
    if not settled or view.stateful.spec.update_strategy.type == "OnDelete":
        return actions
    return actions + _updates(view)


def _living(view: View) -> tuple[list[Action], bool]:
    """Create what is missing; whether all members are there and well (in parallel mode: there)."""
    actions: list[Action] = []
    ordered, ended, members = not is_parallel(view.stateful), False, view.members
    for ordinal in view.wanted:
        pod = members.get(ordinal)
        if pod is None:
            actions.append(Create(ordinal, _revision_for(view, ordinal)))
        elif pod.status.phase in ("Succeeded", "Failed"):
            ended = True
            if not is_terminating(pod):
                actions.append(Delete(pod, terminal=True))
        elif not ordered or (view.is_available(pod) and not is_terminating(pod)):
            if not has_identity(pod, ordinal):
                actions.append(Relabel(pod, ordinal))
            continue
        if ordered:  # something is missing, ended or not well: all after it wait
            return actions, False
    return actions, not ended


def _revision_for(view: View, ordinal: int) -> ControllerRevision:
    """Members below the partition are made as they were."""
    strategy = view.stateful.spec.update_strategy
    rolling = strategy.rolling_update
    if view.stateful.status.current_revision == view.update.metadata.name or strategy.type == "OnDelete":
        return view.update
    if rolling is None:
        below = view.wanted.start + (view.stateful.status.current_replicas or 0)
    else:
        below = view.wanted.start + (rolling.partition or 0)
    return view.current if ordinal < below else view.update


def _condemned(view: View) -> tuple[list[Action], bool]:
    doomed = view.condemned
    if is_parallel(view.stateful):
        return [Delete(pod) for pod in doomed if not is_terminating(pod)], True
    if not doomed:
        return [], True
    return ([] if is_terminating(doomed[0]) else [Delete(doomed[0])]), False


def _updates(view: View) -> list[Action]:
    """Delete outdated members from the highest ordinal down, so that they are made anew."""
    rolling = view.stateful.spec.update_strategy.rolling_update
    lowest = view.wanted.start + (rolling.partition or 0 if rolling is not None else 0)
    members, update = view.members, view.update.metadata.name
    targets = [members.get(ordinal) for ordinal in reversed(view.wanted) if ordinal >= lowest]
    if rolling is not None and rolling.max_unavailable is not None:
        limit = max(1, scaled(rolling.max_unavailable, replicas_of(view.stateful), round_up=False))
        up = sum(view.is_available(pod) and not is_terminating(pod) for pod in members.values())
        allowed = limit - (len(view.wanted) - up)
        outdated = [
            pod
            for pod in targets
            if pod is not None and revision_of(pod) != update and not is_terminating(pod)
        ]
        return [Delete(pod) for pod in outdated[: max(0, allowed)]]
    for pod in targets:
        if pod is None:
            return []
        if revision_of(pod) != update and not is_terminating(pod):
            return [Delete(pod)]
        if is_terminating(pod) or not view.is_available(pod):
            return []
    return []


# Status


def status_of(view: View, collisions: int) -> StatefulSetStatus:
    """The status of the set as seen; a roll-out that is over makes the new revision the current one."""
    pods = [pod for pod in view.pods if ordinal_of(view.stateful, pod) is not None]
    current, update = view.current.metadata.name or "", view.update.metadata.name or ""
    ready, updated = _count(is_running(pod) for pod in pods), _members_at(pods, update)
    status = structs.replace(
        view.stateful.status,
        observed_generation=view.stateful.metadata.generation,
        replicas=len(pods),
        ready_replicas=ready,
        available_replicas=sum(view.is_available(pod) for pod in pods),
        current_replicas=_members_at(pods, current),
        updated_replicas=updated,
        current_revision=current,
        update_revision=update,
        collision_count=collisions,
    )
    rolling = view.stateful.spec.update_strategy.type != "OnDelete"
    wanted = replicas_of(view.stateful)
    if rolling and (updated or 0) == wanted == len(pods) and (ready or 0) == wanted:
        status = structs.replace(status, current_replicas=updated, current_revision=update)
    return status


def _members_at(pods: Iterable[Pod], revision: str) -> int | None:
    return _count(revision_of(pod) == revision and not is_terminating(pod) for pod in pods)


def _count(values: Iterable[bool]) -> int | None:
    return sum(values) or None

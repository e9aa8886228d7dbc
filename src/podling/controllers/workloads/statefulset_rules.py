"""The members of a stateful set: their ordinals, names and claims, and the status that counts them. Pure.

Upstream: ``stateful_set_utils.go`` in ``pkg/controller/statefulset``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Generic, Protocol, TypeVar

from msgspec import structs

from podling.api.apps_v1 import (
    ControllerRevision,
    StatefulSet,
    StatefulSetOrdinals,
    StatefulSetPersistentVolumeClaimRetentionPolicy,
    StatefulSetStatus,
)
from podling.api.core_v1 import (
    PersistentVolumeClaim,
    PersistentVolumeClaimVolumeSource,
    Pod,
    PodTemplateSpec,
    Volume,
)
from podling.api.meta_v1 import LabelSelector
from podling.client.base import ApiObject
from podling.controllers.pod_state import is_available
from podling.controllers.workloads.pod_control import pod_from_template
from podling.controllers.workloads.revisions import REVISION_LABEL
from podling.machinery.pods import is_ready

POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"
ORDINAL_MAX = 2**31 - 1


class StatefulSpec(Protocol):
    """The fields of a spec that decide which pods and claims there are."""

    @property
    def replicas(self) -> int | None: ...

    @property
    def ordinals(self) -> StatefulSetOrdinals | None: ...

    @property
    def selector(self) -> LabelSelector: ...

    @property
    def template(self) -> PodTemplateSpec: ...

    @property
    def service_name(self) -> str: ...

    @property
    def pod_management_policy(self) -> str: ...

    @property
    def min_ready_seconds(self) -> int: ...

    @property
    def volume_claim_templates(self) -> tuple[PersistentVolumeClaim, ...]: ...

    @property
    def persistent_volume_claim_retention_policy(
        self,
    ) -> StatefulSetPersistentVolumeClaimRetentionPolicy | None: ...


class StatefulOwner(ApiObject, Protocol):
    """A stateful set: the built-in kind, or an extension's kind with the same fields."""

    @property
    def spec(self) -> StatefulSpec: ...


S = TypeVar("S", bound=StatefulOwner)


def replicas_of(stateful: StatefulOwner) -> int:
    return 1 if stateful.spec.replicas is None else stateful.spec.replicas


def ordinals(stateful: StatefulOwner) -> range:
    """Return the ordinals that the set's pods should have."""
    first = stateful.spec.ordinals.start or 0 if stateful.spec.ordinals is not None else 0
    return range(first, first + replicas_of(stateful))


def ordinal_of(stateful: StatefulOwner, pod: Pod) -> int | None:
    """Return the pod's ordinal by its name, or None if it is no member's name."""
    parent, _, number = (pod.metadata.name or "").rpartition("-")
    if parent != stateful.metadata.name or not (number.isascii() and number.isdigit()):
        return None
    ordinal = int(number)
    return ordinal if ordinal <= ORDINAL_MAX and number == str(ordinal) else None


def is_member(stateful: StatefulOwner, pod: Pod) -> bool:
    """Return whether the pod's name is one of the set's. Others are neither adopted nor kept."""
    return ordinal_of(stateful, pod) is not None


def is_parallel(stateful: StatefulOwner) -> bool:
    return stateful.spec.pod_management_policy == "Parallel"


def revision_of(pod: Pod) -> str:
    return pod.metadata.labels.get(REVISION_LABEL, "")


def is_terminating(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None


def is_running(pod: Pod) -> bool:
    return pod.status.phase == "Running" and is_ready(pod)


# A member


def claim_name(template: str, stateful: StatefulOwner, ordinal: int) -> str:
    return f"{template}-{stateful.metadata.name}-{ordinal}"


def member(stateful: StatefulOwner, template: PodTemplateSpec, revision: str, ordinal: int) -> Pod:
    """Return the pod with this ordinal, as ``template`` makes it."""
    pod = pod_from_template(template, stateful)
    metadata = structs.replace(
        pod.metadata, generate_name="", labels={**pod.metadata.labels, REVISION_LABEL: revision}
    )
    return with_identity(stateful, structs.replace(pod, metadata=metadata), ordinal)


def with_identity(stateful: StatefulOwner, pod: Pod, ordinal: int) -> Pod:
    """``pod`` with the name, labels, host name and claims that belong to an ordinal."""
    name = f"{stateful.metadata.name}-{ordinal}"
    metadata = structs.replace(pod.metadata, name=name, namespace=stateful.metadata.namespace)
    spec = structs.replace(pod.spec, hostname=name, subdomain=stateful.spec.service_name)
    return repaired(stateful, structs.replace(pod, metadata=metadata, spec=spec), ordinal)


def repaired(stateful: StatefulOwner, pod: Pod, ordinal: int) -> Pod:
    """Return the pod with the labels and the claims of its ordinal."""
    labels = {**pod.metadata.labels, POD_NAME: pod.metadata.name or "", POD_INDEX: str(ordinal)}
    metadata = structs.replace(pod.metadata, labels=labels)
    if has_storage(stateful, pod, ordinal):
        return structs.replace(pod, metadata=metadata)
    claimed = tuple(
        Volume(name=name, persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name=claim))
        for name, claim in _claimed(stateful, ordinal).items()
    )
    names = {each.name for each in claimed}
    others = tuple(each for each in pod.spec.volumes if each.name not in names)
    spec = structs.replace(pod.spec, volumes=(*claimed, *others))
    return structs.replace(pod, metadata=metadata, spec=spec)


def _claimed(stateful: StatefulOwner, ordinal: int) -> dict[str, str]:
    """Return the claims of a pod by the names of their volumes."""
    names = [each.metadata.name or "" for each in stateful.spec.volume_claim_templates]
    return {name: claim_name(name, stateful, ordinal) for name in names}


def has_identity(pod: Pod) -> bool:
    """Return whether a live pod carries the label with its name; the rest of its identity cannot change."""
    return pod.metadata.labels.get(POD_NAME) == pod.metadata.name


def has_storage(stateful: StatefulOwner, pod: Pod, ordinal: int) -> bool:
    """Return whether the pod's volumes are the claims of its ordinal; those of an adopted pod may not be."""
    wanted = _claimed(stateful, ordinal)
    if not wanted:
        return True
    sources = {each.name: each.persistent_volume_claim for each in pod.spec.volumes}
    found = {name: source.claim_name for name, source in sources.items() if source is not None}
    return wanted.items() <= found.items()


# The set as seen


@dataclass(frozen=True)
class SetView(Generic[S]):
    """A stateful set with its pods, the two revisions it may be between, and the claims of its namespace."""

    stateful: S
    pods: Sequence[Pod]
    current: ControllerRevision
    update: ControllerRevision
    now: datetime
    claims: Mapping[str, PersistentVolumeClaim] = field(default_factory=dict)

    @cached_property
    def wanted(self) -> Collection[int]:
        """The ordinals that the set's pods should have, the lowest first."""
        return ordinals(self.stateful)

    @cached_property
    def members(self) -> dict[int, Pod]:
        """The pods whose ordinals are wanted, the lowest first."""
        return {each: pod for each, pod in self._known if each in self.wanted}

    @cached_property
    def condemned(self) -> dict[int, Pod]:
        """The pods whose ordinals are not wanted, the highest first."""
        return {each: pod for each, pod in reversed(self._known) if each not in self.wanted}

    @cached_property
    def _known(self) -> list[tuple[int, Pod]]:
        numbered = ((ordinal_of(self.stateful, pod), pod) for pod in self.pods)
        return sorted(((each, pod) for each, pod in numbered if each is not None), key=lambda pair: pair[0])

    def is_available(self, pod: Pod) -> bool:
        """Return whether the pod is running, has been ready for long enough and is not being deleted."""
        least = self.stateful.spec.min_ready_seconds or 0
        return is_running(pod) and is_available(pod, least, self.now) and not is_terminating(pod)


View = SetView[StatefulSet]


# Status


def status_of(view: View, collisions: int) -> StatefulSetStatus:
    """The status of the set as seen; a roll-out that is over makes the new revision the current one."""
    pods = [pod for pod in view.pods if ordinal_of(view.stateful, pod) is not None]
    current, update = view.current.metadata.name or "", view.update.metadata.name or ""
    ready, updated = sum(is_running(pod) for pod in pods), _members_at(pods, update)
    status = structs.replace(
        view.stateful.status,
        observed_generation=view.stateful.metadata.generation,
        replicas=len(pods),
        ready_replicas=ready,
        available_replicas=sum(
            is_running(pod) and is_available(pod, view.stateful.spec.min_ready_seconds or 0, view.now)
            for pod in pods
        ),
        current_replicas=_members_at(pods, current),
        updated_replicas=updated,
        current_revision=current,
        update_revision=update,
        collision_count=collisions,
    )
    rolling = view.stateful.spec.update_strategy.type != "OnDelete"
    wanted = replicas_of(view.stateful)
    if rolling and updated == wanted == len(pods) and ready == wanted:
        status = structs.replace(status, current_replicas=updated, current_revision=update)
    return status


def _members_at(pods: Iterable[Pod], revision: str) -> int:
    return sum(revision_of(pod) == revision and not is_terminating(pod) for pod in pods)

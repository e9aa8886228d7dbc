"""New pods of a CloneSet and the claims that belong to them. Pure.

A pod and its claims share the ID at the end of their names, so that a new pod can take over the claims of a
deleted one. Upstream: ``NewVersionedPods``, ``GetPersistentVolumeClaims``, ``getOrGenAvailableIDs``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import structs

from podling.api.core_v1 import (
    PersistentVolumeClaim,
    PersistentVolumeClaimVolumeSource,
    Pod,
    PodTemplateSpec,
    Volume,
)
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import ApiObject
from podling.controllers.owner_references import controller_reference
from podling_kruise.cloneset.types import CloneSet
from podling_kruise.inplace.pod_plan import with_readiness_gate
from podling_kruise.lifecycle import PREPARING_NORMAL, with_revision, with_state
from podling_kruise.names import INSTANCE_ID

ID_LENGTH = 5


def instance_id(obj: ApiObject) -> str:
    return obj.metadata.labels.get(INSTANCE_ID, "")


def choose_ids(
    number: int, pods: Iterable[Pod], claims: Iterable[PersistentVolumeClaim], random_id: Callable[[], str]
) -> list[str]:
    """Return IDs for new pods: first those of claims without a pod."""
    used = {instance_id(pod) for pod in pods}
    known = {instance_id(claim) for claim in claims} - {""}
    chosen = sorted(known - used)[:number]
    taken = used | known
    while len(chosen) < number:
        made = random_id()
        if made not in taken:
            taken.add(made)
            chosen.append(made)
    return sorted(chosen)


def new_pod(
    owner: CloneSet,
    template: PodTemplateSpec,
    revision: str,
    name_id: str,
    gates: Mapping[str, bool],
    now: datetime,
) -> Pod:
    """Return a pod of a revision, in the state ``PreparingNormal``."""
    labels = {**template.metadata.labels, INSTANCE_ID: name_id}
    metadata = ObjectMeta(
        name=f"{owner.metadata.name}-{name_id}",
        namespace=owner.metadata.namespace,
        labels=labels,
        annotations=dict(template.metadata.annotations),
        finalizers=template.metadata.finalizers,
        owner_references=(controller_reference(owner),),
    )
    claims = {
        each.metadata.name: claim_name(owner, each, name_id) for each in owner.spec.volume_claim_templates
    }
    own = tuple(
        Volume(name=name or "", persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name=claim))
        for name, claim in claims.items()
    )
    volumes = (*own, *(each for each in template.spec.volumes if each.name not in claims))
    spec = structs.replace(with_readiness_gate(template.spec), volumes=volumes)
    pod = with_revision(Pod(metadata=metadata, spec=spec), revision, gates)
    return with_state(pod, PREPARING_NORMAL, now)


def claim_name(owner: CloneSet, template: PersistentVolumeClaim, name_id: str) -> str:
    return f"{template.metadata.name}-{owner.metadata.name}-{name_id}"


def claims_of(owner: CloneSet, name_id: str) -> list[PersistentVolumeClaim]:
    """Return the claims of the pod with this ID."""
    selector = owner.spec.selector
    chosen = selector.match_labels if selector is not None else {}
    return [
        structs.replace(
            each,
            metadata=structs.replace(
                each.metadata,
                name=claim_name(owner, each, name_id),
                namespace=owner.metadata.namespace,
                labels={**each.metadata.labels, **chosen, INSTANCE_ID: name_id},
                owner_references=(*each.metadata.owner_references, controller_reference(owner)),
            ),
        )
        for each in owner.spec.volume_claim_templates
    ]


def sorted_claims(
    claims: Iterable[PersistentVolumeClaim], active: Sequence[Pod], inactive: Sequence[Pod]
) -> tuple[list[PersistentVolumeClaim], list[tuple[PersistentVolumeClaim, Pod]], list[PersistentVolumeClaim]]:
    """Return the claims of active pods, those of pods that end, with the pods, and those of no pod."""
    in_use, ending = {instance_id(pod) for pod in active}, {instance_id(pod): pod for pod in inactive}
    kept, left, unused = [], [], []
    for claim in claims:
        name_id = instance_id(claim)
        if name_id in in_use:
            kept.append(claim)
        elif name_id in ending:
            left.append((claim, ending[name_id]))
        else:
            unused.append(claim)
    return kept, left, unused

"""The ResourceClaims of pods: their names, those made from templates, and their consumers. Pure.

Upstream: ``pkg/controller/resourceclaim`` and ``k8s.io/dynamic-resource-allocation/resourceclaim``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from msgspec import structs

from podling.api.core_v1 import Pod, PodResourceClaim
from podling.api.meta_v1 import ObjectMeta
from podling.api.resource_v1 import ResourceClaim, ResourceClaimConsumerReference, ResourceClaimTemplate
from podling.controllers.owner_references import controller_of, controller_reference, is_controlled_by
from podling.machinery.pods import is_terminal

POD_CLAIM = "resource.kubernetes.io/pod-claim-name"
"""The annotation of a claim that was made from a template: the name of the entry in the pod's spec."""
EXTENDED_RESOURCE = "resource.kubernetes.io/extended-resource-claim"
FINALIZER = "resource.kubernetes.io/delete-protection"
CONSUMERS_MAX = 256
PREFIX_MAX = 57
"""A generated name has 63 characters at most: this, a hyphen and five random ones."""


@dataclass(frozen=True, slots=True)
class Named:
    """The claim behind an entry of a pod's spec.

    Attributes:
        name: its name; None if no claim is needed.
        is_generated: it was made for the pod, and must be owned by it.
    """

    name: str | None
    is_generated: bool


def named(pod: Pod, entry: PodResourceClaim) -> Named | None:
    """Return the claim behind an entry; None while it has not been made from its template."""
    if entry.resource_claim_name is not None:
        return Named(entry.resource_claim_name, is_generated=False)
    status = next((each for each in pod.status.resource_claim_statuses if each.name == entry.name), None)
    return None if status is None else Named(status.resource_claim_name, is_generated=True)


def claims_of(pod: Pod) -> Iterable[str]:
    """Yield the claims that the pod uses as ``<namespace>/<name>``."""
    for entry in pod.spec.resource_claims:
        found = named(pod, entry)
        if found is not None and found.name:
            yield f"{pod.metadata.namespace}/{found.name}"


def not_owner(pod: Pod, claim: ResourceClaim) -> str:
    """Return the message about a claim of a generated name that does not belong to the pod."""
    return (
        f"ResourceClaim {claim.metadata.namespace}/{claim.metadata.name} was not created for pod "
        f"{pod.metadata.namespace}/{pod.metadata.name} (pod is not owner)"
    )


def needs_claims(pod: Pod) -> bool:
    """Return whether containers of the pod run or may still run."""
    never_placed = pod.metadata.deletion_timestamp is not None and not pod.spec.node_name
    return not is_terminal(pod) and not never_placed


def claim_from(pod: Pod, entry: PodResourceClaim, template: ResourceClaimTemplate) -> ResourceClaim:
    """Return the claim to make for a pod, owned by it."""
    given = template.spec.metadata
    metadata = ObjectMeta(
        generate_name=name_prefix(pod.metadata.name or "", entry.name),
        namespace=pod.metadata.namespace,
        labels=dict(given.labels),
        annotations={**given.annotations, POD_CLAIM: entry.name},
        owner_references=(controller_reference(pod),),
    )
    return ResourceClaim(metadata=metadata, spec=template.spec.spec)


def name_prefix(pod: str, entry: str) -> str:
    """Return the beginning of a generated name; long names of both are cut in proportion."""
    prefix = f"{pod}-{entry}-"
    if len(prefix) <= PREFIX_MAX:
        return prefix
    return f"{pod[: len(pod) * PREFIX_MAX // len(prefix)]}-{entry[: len(entry) * PREFIX_MAX // len(prefix)]}"


def generated_for(pod: Pod, entry: PodResourceClaim, owned: Iterable[ResourceClaim]) -> ResourceClaim | None:
    """Return the claim that was made for an entry before the pod's status could name it."""
    marked = (each for each in owned if each.metadata.annotations.get(POD_CLAIM) == entry.name)
    return next((each for each in marked if is_controlled_by(each, pod)), None)


def is_reserved_for(claim: ResourceClaim, pod: Pod) -> bool:
    return any(each.uid == pod.metadata.uid for each in claim.status.reserved_for)


def should_reserve(claim: ResourceClaim, pod: Pod) -> bool:
    """Return whether a pod on a node uses the allocated claim without being one of its consumers."""
    status = claim.status
    if status.allocation is None or is_reserved_for(claim, pod):
        return False
    return len(status.reserved_for) < CONSUMERS_MAX


def reserved(claim: ResourceClaim, pod: Pod) -> ResourceClaim:
    """Return the claim with the pod as another consumer."""
    consumer = ResourceClaimConsumerReference(
        resource="pods", name=pod.metadata.name or "", uid=pod.metadata.uid or ""
    )
    return with_consumers(claim, (*claim.status.reserved_for, consumer))


def is_pod(consumer: ResourceClaimConsumerReference) -> bool:
    return not consumer.api_group and consumer.resource == "pods"


def with_consumers(
    claim: ResourceClaim, consumers: Iterable[ResourceClaimConsumerReference]
) -> ResourceClaim:
    return structs.replace(claim, status=structs.replace(claim.status, reserved_for=tuple(consumers)))


def deallocated(claim: ResourceClaim) -> ResourceClaim:
    """Return the claim without its devices, if a scheduler had allocated them, as the finalizer shows."""
    if FINALIZER not in claim.metadata.finalizers:
        return claim
    return structs.replace(claim, status=structs.replace(claim.status, allocation=None))


def without_finalizer(claim: ResourceClaim) -> ResourceClaim:
    """Return the claim without the finalizer of allocated claims; the very same if it has none."""
    metadata = claim.metadata
    if FINALIZER not in metadata.finalizers:
        return claim
    left = tuple(each for each in metadata.finalizers if each != FINALIZER)
    return structs.replace(claim, metadata=structs.replace(metadata, finalizers=left))


def owning_pod(claim: ResourceClaim) -> tuple[str, str] | None:
    """Return the name and the UID of the pod that the claim was made for, if it was."""
    ref = controller_of(claim)
    return (ref.name, ref.uid) if ref is not None and (ref.api_version, ref.kind) == ("v1", "Pod") else None


def wants_admin_access(claim: ResourceClaim) -> bool:
    exact = (each.exactly for each in claim.spec.devices.requests)
    return any(each is not None and bool(each.admin_access) for each in exact)


def source(claim: ResourceClaim) -> str:
    """Return the label ``source`` of the metric: what has made the claim, empty for a user."""
    annotations = claim.metadata.annotations
    if POD_CLAIM in annotations:
        return "resource_claim_template"
    return "extended_resource" if annotations.get(EXTENDED_RESOURCE) == "true" else ""

"""ResourceClaims of pods: made from templates, released when no pod uses them any more.

A pod whose spec names a ResourceClaimTemplate gets a claim of its own, whose generated name its status shows.
A claim's consumers that will not run any more are removed; with the last one the devices are given back, and
a claim that was made for a pod which has ended is deleted before the garbage collector would do it.

Devices themselves are allocated by drivers and schedulers that know them.
Upstream: ``pkg/controller/resourceclaim``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar

from podling.api.core_v1 import Pod, PodResourceClaim
from podling.api.resource_v1 import ResourceClaim, ResourceClaimConsumerReference, ResourceClaimTemplate
from podling.client.base import Key, Unreachable, key_of
from podling.client.informer import revision_number
from podling.client.runner import AwaitChange, NotYet
from podling.controllers import resource_claim_rules as rules
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.children import BY_CONTROLLER, controller_index
from podling.controllers.owner_references import is_controlled_by
from podling.controllers.status_writes import patch_pod_status
from podling.machinery.errors import ApiError, unless_gone
from podling.machinery.histograms import counters, gauges

BY_CLAIM = "resource claim"
POD, CLAIM = "pod:", "claim:"
FIELD_MANAGER = "ResourceClaimController"


class ResourceClaimController(Controller):
    """The keys are pods and claims: their names have a prefix that says which."""

    name: ClassVar[str] = "resourceclaim-controller"
    workers: ClassVar[int] = 10

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._recorder = context.recorder("resource_claim")
        self._pods = context.informers.informer(Pod)
        self._claims = context.informers.informer(ResourceClaim)
        self._templates = context.informers.informer(ResourceClaimTemplate)
        self._made: dict[tuple[str, str], ResourceClaim] = {}
        """By the pod's UID and the entry's name: claims that the informer may not show yet."""
        self._created: Counter[tuple[str, str]] = Counter()
        self._pods.add_indexer(BY_CLAIM, rules.claims_of)
        self._claims.add_indexer(BY_CONTROLLER, controller_index)
        self._pods.add_handler(self._pod_seen, lambda old, new: self._pod_seen(new), self._pod_gone)
        self._claims.add_handler(self._claim_seen, lambda old, new: self._claim_seen(new), self._wake_pods)

    def _pod_seen(self, pod: Pod) -> None:
        if not pod.spec.resource_claims:
            return
        if not rules.needs_claims(pod):
            self._wake_claims(pod)
        elif pod.metadata.deletion_timestamp is None:
            self.queue.add(Key(pod.metadata.namespace or "", f"{POD}{pod.metadata.name}"))

    def _pod_gone(self, pod: Pod) -> None:
        for entry in pod.spec.resource_claims:
            self._made.pop((pod.metadata.uid or "", entry.name), None)
        self._wake_claims(pod)

    def _wake_claims(self, pod: Pod) -> None:
        for claim in rules.claims_of(pod):
            namespace, _, name = claim.partition("/")
            self.queue.add(Key(namespace, f"{CLAIM}{name}"))

    def _claim_seen(self, claim: ResourceClaim) -> None:
        self.queue.add(Key(claim.metadata.namespace or "", f"{CLAIM}{claim.metadata.name}"))
        self._wake_pods(claim)

    def _wake_pods(self, claim: ResourceClaim) -> None:
        for pod in self._pods.by_index(BY_CLAIM, str(key_of(claim))):
            self._pod_seen(pod)

    async def reconcile(self, key: Key) -> AwaitChange:
        kind, _, name = key.name.partition(":")
        if f"{kind}:" == POD:
            pod = self._pods.get(Key(key.namespace, name))
            if pod is not None and pod.metadata.deletion_timestamp is None:
                await self._sync_pod(pod)
        else:
            claim = self._claims.get(Key(key.namespace, name))
            if claim is not None:
                await self._sync_claim(claim)
        return AwaitChange()

    # Pods

    async def _sync_pod(self, pod: Pod) -> None:
        made: list[dict[str, str]] = []
        for entry in pod.spec.resource_claims:
            try:
                claim = await self._claim_to_show(pod, entry)
            except (ApiError, Unreachable, NotYet) as error:
                text = f"PodResourceClaim {entry.name}: {error}"
                self._recorder.event(pod, "Warning", "FailedResourceClaimCreation", text)
                raise
            if claim is not None:
                made.append({"name": entry.name, "resourceClaimName": claim.metadata.name or ""})
        if made:
            shown = {"resourceClaimStatuses": made}
            await patch_pod_status(self.client, pod, shown, field_manager=FIELD_MANAGER)
        elif pod.spec.node_name:
            for entry in pod.spec.resource_claims:
                await self._reserve(pod, entry)

    async def _claim_to_show(self, pod: Pod, entry: PodResourceClaim) -> ResourceClaim | None:
        """Return the claim that the pod's status has to name for an entry, made if it does not exist."""
        found = rules.named(pod, entry)
        if found is not None:
            if found.name is None:
                return None
            claim = self._claims.get(Key(pod.metadata.namespace or "", found.name))
            is_right = not found.is_generated or (claim is not None and is_controlled_by(claim, pod))
            if claim is not None and is_right:
                return None
        if entry.resource_claim_template_name is None:
            return None
        claim = self._known(pod, entry)
        if claim is None:
            claim = await self._make(pod, entry, entry.resource_claim_template_name)
        shown = found is not None and found.name == claim.metadata.name
        return None if shown else claim

    def _known(self, pod: Pod, entry: PodResourceClaim) -> ResourceClaim | None:
        """Return the claim that was made already: this one's own that the informer does not show yet, too."""
        key = (pod.metadata.uid or "", entry.name)
        made = self._made.get(key)
        if made is not None and self._claims.revision < revision_number(made):
            return made
        self._made.pop(key, None)
        return rules.generated_for(pod, entry, self._claims.by_index(BY_CONTROLLER, key[0]))

    async def _make(self, pod: Pod, entry: PodResourceClaim, template_name: str) -> ResourceClaim:
        template = self._templates.get(Key(pod.metadata.namespace or "", template_name))
        if template is None:
            missing = f'resourceclaimtemplate.resource.k8s.io "{template_name}" not found'
            raise NotYet(f'resource claim template "{template_name}": {missing}')
        wanted = rules.claim_from(pod, entry, template)
        admin = str(rules.wants_admin_access(wanted)).lower()
        try:
            claim = await self.client.create(wanted)
        except (ApiError, Unreachable) as error:
            self._created["failure", admin] += 1
            raise NotYet(f"create ResourceClaim {wanted.metadata.generate_name}: {error}") from error
        self._created["success", admin] += 1
        self._made[pod.metadata.uid or "", entry.name] = claim
        return claim

    async def _reserve(self, pod: Pod, entry: PodResourceClaim) -> None:
        """Reserve an allocated claim for a pod that is on a node without the scheduler's doing."""
        found = rules.named(pod, entry)
        if found is None or found.name is None:
            return
        claim = self._claims.get(Key(pod.metadata.namespace or "", found.name))
        if claim is None:
            return
        if found.is_generated and not is_controlled_by(claim, pod):
            raise NotYet(rules.not_owner(pod, claim))
        if rules.should_reserve(claim, pod):
            await self.client.update(rules.reserved(claim, pod), subresource="status")

    # Claims

    async def _sync_claim(self, claim: ResourceClaim) -> None:
        before = claim.status.reserved_for
        others = [each for each in before if not rules.is_pod(each)]
        if others:
            raise NotYet(f"unsupported ReservedFor entry: {others[0]}")
        valid = [each for each in before if await self._may_run(claim, each)]
        if len(valid) < len(before):
            changed = rules.with_consumers(claim, valid)
            await self._release(rules.deallocated(changed) if not valid else changed)
        elif not valid and claim.metadata.deletion_timestamp is not None:
            await self._release(rules.deallocated(claim), before=claim)
        if not valid:
            await self._delete_if_unused(claim)

    async def _release(self, claim: ResourceClaim, before: ResourceClaim | None = None) -> None:
        """Write the status, and remove the finalizer of a claim that has no devices any more."""
        if before is None or claim.status != before.status:
            claim = await self.client.update(claim, subresource="status")
        if claim.status.allocation is None:
            free = rules.without_finalizer(claim)
            if free is not claim:
                await self.client.update(free)

    async def _may_run(self, claim: ResourceClaim, consumer: ResourceClaimConsumerReference) -> bool:
        """Return whether the consumer may still use the claim.

        A pod that the informer does not show is read from the server: the scheduler may just be placing it.
        """
        namespace = claim.metadata.namespace
        pod: Pod | None = self._pods.get(Key(namespace or "", consumer.name))
        if pod is None:
            with unless_gone():
                pod = await self.client.get(Pod, consumer.name, namespace)
        return isinstance(pod, Pod) and pod.metadata.uid == consumer.uid and rules.needs_claims(pod)

    async def _delete_if_unused(self, claim: ResourceClaim) -> None:
        """Delete a claim that was made for a pod which was replaced or will not run any more."""
        owner = rules.owning_pod(claim)
        if owner is None or claim.metadata.deletion_timestamp is not None:
            return
        pod = self._pods.get(Key(claim.metadata.namespace or "", owner[0]))
        if pod is not None and (pod.metadata.uid != owner[1] or not rules.needs_claims(pod)):
            with unless_gone():
                await self.client.delete(
                    ResourceClaim,
                    claim.metadata.name or "",
                    claim.metadata.namespace,
                    uid=claim.metadata.uid or "",
                )

    def families(self) -> Iterator[Any]:
        prefix = "dynamic_resource_allocation_resource"
        yield counters(
            f"{prefix}claim_creates",
            "[ALPHA] Number of ResourceClaims creation requests, categorized by creation status and admin "
            "access",
            ("status", "admin_access"),
            dict(self._created),
        )
        numbers: Counter[tuple[str, str, str]] = Counter()
        for claim in self._claims.values():
            allocated = str(claim.status.allocation is not None).lower()
            admin = str(rules.wants_admin_access(claim)).lower()
            numbers[allocated, admin, rules.source(claim)] += 1
        yield gauges(
            f"{prefix}_claims",
            "[ALPHA] Number of ResourceClaims, categorized by allocation status, admin access, and source. "
            "Source can be 'resource_claim_template' (created from a template), 'extended_resource' "
            "(extended resources), or empty (manually created by a user).",
            ("allocated", "admin_access", "source"),
            dict(numbers),
        )

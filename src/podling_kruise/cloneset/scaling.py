"""Creating and deleting the pods of a CloneSet. Upstream: ``cloneset_scale.go``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from podling import clock, ids
from podling.api.core_v1 import Node, PersistentVolumeClaim, Pod, PodTemplateSpec
from podling.client.base import Client, Unreachable, key_of
from podling.client.events import EventRecorder
from podling.client.informer import Informer
from podling.controllers.children import Children
from podling.controllers.refusals import is_namespace_terminating
from podling.controllers.workloads.pod_control import slow_start, together
from podling.controllers.workloads.replacement_rate import ReplacementRate
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError, is_already_exists, is_not_found
from podling.machinery.pods import is_terminal
from podling_kruise.cloneset.pods import ID_LENGTH, choose_ids, claims_of, instance_id, new_pod
from podling_kruise.cloneset.removal_ranking import choose_for_removal, removal_order
from podling_kruise.cloneset.scale_plan import Differences, differences, is_pod_available, is_specified_delete
from podling_kruise.cloneset.types import CloneSet
from podling_kruise.lifecycle import (
    PREPARING_DELETE,
    PREPARING_NORMAL,
    counts_as_updated,
    is_hooked,
    marks_not_ready,
    state_of,
)
from podling_kruise.pod_writes import PodWrites


class Revisions(Struct, frozen=True):
    """The current and the update revision: their names, and the templates in them."""

    current: str
    update: str
    current_template: PodTemplateSpec
    update_template: PodTemplateSpec


class Scaling:
    """Creates and deletes pods, and deletes the claims of those that it deletes.

    Args:
        nodes: for the topology of pods with spread constraints.
        gates: the feature gates.
    """

    def __init__(
        self,
        client: Client,
        recorder: EventRecorder,
        children: Children[CloneSet, Pod],
        nodes: Informer[Node],
        gates: Mapping[str, bool],
    ) -> None:
        self._client, self._recorder = client, recorder
        self._children, self._nodes, self._gates = children, nodes, gates
        self._writes = PodWrites(client, children)
        self._replacements = ReplacementRate()

    async def scale(
        self,
        owner: CloneSet,
        revisions: Revisions,
        pods: Sequence[Pod],
        claims: Sequence[PersistentVolumeClaim],
    ) -> bool:
        """Bring the number of pods nearer to what is wanted. Return whether something was changed.

        Raises what creating and deleting raise.
        """
        specified = [pod for pod in pods if is_specified_delete(owner.spec, pod)]
        preparing = [pod for pod in pods if state_of(pod) == PREPARING_DELETE]
        doomed = len({pod.metadata.name for pod in (*specified, *preparing)})
        if await self._release(owner, len(pods) - doomed, preparing):
            return True
        update, gates = revisions.update, self._gates
        found = differences(
            owner.spec,
            pods,
            (revisions.current, update),
            gates,
            clock.now(),
            lambda pod: counts_as_updated(pod, update, gates),
        )
        if found.scale_up > found.scale_up_limit:
            text = (
                f"scaleUp is limited because of scaleStrategy.maxUnavailable, limit: {found.scale_up_limit}"
            )
            self._recorder.event(owner, "Warning", "ScaleUpLimited", text)
        if found.scale_up:
            return await self._create(owner, revisions, found, pods, claims)
        if preparing and await self._delete(owner, preparing, claims):
            return True
        waiting = [pod for pod in specified if state_of(pod) != PREPARING_DELETE]
        now = clock.now()
        allowed, limit = [], found.delete_ready_limit
        for pod in waiting:
            if not is_pod_available(pod, 0, now):
                allowed.append(pod)
            elif limit > 0:
                allowed.append(pod)
                limit -= 1
        if waiting and await self._delete(owner, allowed, claims):
            return True
        if not found.scale_down or doomed:
            return False
        return await self._scale_down(owner, revisions, found, limit, pods, claims)

    async def _release(self, owner: CloneSet, staying: int, preparing: Sequence[Pod]) -> bool:
        """Let pods live that need not be deleted any more, unless a hook has made them not ready."""
        if marks_not_ready(owner.spec.lifecycle):
            return False
        missing, changed = owner.spec.wanted - staying, False
        for pod in preparing:
            if missing <= 0:
                break
            if is_specified_delete(owner.spec, pod):
                continue
            changed = await self._writes.set_state(owner, pod, PREPARING_NORMAL) or changed
            missing -= 1
        return changed

    async def _create(
        self,
        owner: CloneSet,
        revisions: Revisions,
        found: Differences,
        pods: Sequence[Pod],
        claims: Sequence[PersistentVolumeClaim],
    ) -> bool:
        number = found.scale_up_limit
        names = choose_ids(number, pods, claims, lambda: ids.suffix(ID_LENGTH))
        old, now = min(found.scale_up_old, number), clock.now()
        made = [
            new_pod(owner, revisions.current_template, revisions.current, each, self._gates, now)
            for each in names[:old]
        ] + [
            new_pod(owner, revisions.update_template, revisions.update, each, self._gates, now)
            for each in names[old:]
        ]
        known = {claim.metadata.name or "" for claim in claims}
        ended = sum(map(is_terminal, self._children.owned(owner)))
        created = 0

        async def create(position: int) -> None:
            nonlocal created
            if position < ended:
                await self._replacements.wait()
            await self._create_one(owner, made[position], known)
            created += 1

        failure = await slow_start(len(made), create)
        if failure is not None and not is_namespace_terminating(failure):
            raise failure
        return created > 0

    async def _create_one(self, owner: CloneSet, pod: Pod, known: set[str]) -> None:
        for claim in claims_of(owner, instance_id(pod)):
            if claim.metadata.name not in known:
                await self._create_claim(owner, claim)
        try:
            made = await self._client.create(pod)
        except (ApiError, Unreachable) as error:
            if not is_namespace_terminating(error):
                text = f"failed to create pod: {error}, pod: {codec.encode(pod).decode()}"
                self._recorder.event(owner, "Warning", "FailedCreate", text)
            raise
        self._children.wrote(key_of(owner), made)
        text = f"succeed to create pod {made.metadata.name}"
        self._recorder.event(owner, "Normal", "SuccessfulCreate", text)

    async def _create_claim(self, owner: CloneSet, claim: PersistentVolumeClaim) -> None:
        try:
            await self._client.create(claim)
        except (ApiError, Unreachable) as error:
            if is_already_exists(error):
                return  # an earlier attempt made it before its pod was refused
            text = f"failed to create pvc: {error}, pvc: {codec.encode(claim).decode()}"
            self._recorder.event(owner, "Warning", "FailedCreate", text)
            raise

    async def _scale_down(
        self,
        owner: CloneSet,
        revisions: Revisions,
        found: Differences,
        limit: int,
        pods: Sequence[Pod],
        claims: Sequence[PersistentVolumeClaim],
    ) -> bool:
        now = clock.now()
        new = [pod for pod in pods if counts_as_updated(pod, revisions.update, self._gates)]
        old = [pod for pod in pods if not counts_as_updated(pod, revisions.update, self._gates)]
        nodes = {node.metadata.name or "": node for node in self._nodes.values()}
        keys = [each.topology_key for each in owner.spec.template.spec.topology_spread_constraints]

        def order(some: Sequence[Pod]) -> list[Pod]:
            seconds = owner.spec.min_ready_seconds
            return removal_order(some, nodes, keys, lambda pod: is_pod_available(pod, seconds, now))

        allowed = []
        for pod in choose_for_removal(found.scale_down, found.scale_down_old, old, new, order):
            if is_pod_available(pod, 0, now):
                if limit <= 0:
                    continue
                limit -= 1
            allowed.append(pod)
        return await self._delete(owner, allowed, claims)

    async def _delete(
        self, owner: CloneSet, pods: Sequence[Pod], claims: Sequence[PersistentVolumeClaim]
    ) -> bool:
        """Delete pods; those that a hook holds become ``PreparingDelete``. Return whether any changed."""
        hook = owner.spec.lifecycle.pre_delete if owner.spec.lifecycle is not None else None
        changed = False
        doomed = []
        for pod in pods:
            if is_hooked(hook, pod) and hook is not None:
                marks = hook.mark_pod_not_ready
                changed = await self._writes.set_state(owner, pod, PREPARING_DELETE, marks=marks) or changed
            else:
                doomed.append(pod)
        failure = await together([self._delete_one(owner, pod, claims) for pod in doomed])
        if failure is not None:
            raise failure
        return changed or bool(doomed)

    async def _delete_one(self, owner: CloneSet, pod: Pod, claims: Sequence[PersistentVolumeClaim]) -> None:
        metadata, key = pod.metadata, key_of(owner)
        try:
            await self._client.delete(Pod, metadata.name or "", metadata.namespace, uid=metadata.uid or "")
        except (ApiError, Unreachable) as error:
            if is_not_found(error):
                return
            text = f"failed to delete pod {metadata.name}: {error}"
            self._recorder.event(owner, "Warning", "FailedDelete", text)
            raise
        self._children.deleted(key, pod)
        self._recorder.event(owner, "Normal", "SuccessfulDelete", f"succeed to delete pod {metadata.name}")
        for claim in claims:
            if instance_id(claim) == instance_id(pod):
                await self.delete_claim(owner, claim, "delete pvc")

    async def delete_claim(self, owner: CloneSet, claim: PersistentVolumeClaim, what: str) -> None:
        """Delete a claim that no pod shall use any more. ``what`` names that in the event of a failure."""
        metadata = claim.metadata
        try:
            await self._client.delete(
                PersistentVolumeClaim, metadata.name or "", metadata.namespace, uid=metadata.uid or ""
            )
        except (ApiError, Unreachable) as error:
            if is_not_found(error):
                return
            text = f"failed to {what} {metadata.name}: {error}"
            self._recorder.event(owner, "Warning", "FailedDelete", text)
            raise

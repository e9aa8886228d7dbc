"""The loop of the updater: a round a minute over all autoscalers that change living pods.

Upstream: ``updater/logic/updater.go``, ``updater/restriction``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, ClassVar

from msgspec import structs

from podling import clock
from podling.api.apps_v1 import DaemonSet, ReplicaSet, StatefulSet
from podling.api.core_v1 import LimitRange, Pod, ReplicationController
from podling.api.meta_v1 import ObjectMeta
from podling.api.policy_v1 import Eviction
from podling.client.base import Key, PatchType, Unreachable, key_of
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.machinery.errors import ApiError
from podling.machinery.selectors import LabelSelector
from podling_vpa.capping import processed
from podling_vpa.limit_ranges import NamespaceLimits, namespace_limits
from podling_vpa.names import (
    AUTO,
    FEATURE_GATES,
    IN_PLACE,
    IN_PLACE_GATE,
    IN_PLACE_OR_RECREATE,
    IN_PLACE_UPDATED,
    PER_VPA_CONFIG,
    RECREATE,
)
from podling_vpa.target_readers import InformedReader
from podling_vpa.targets import NoTarget, Targets, strongest, targets_controller
from podling_vpa.types import Recommendation, VerticalPodAutoscaler
from podling_vpa.updater.disruption import (
    Creator,
    Decision,
    Group,
    NoReplicas,
    can_evict,
    groups_of,
    is_resizing,
    resize_decision,
    resizes,
)
from podling_vpa.updater.priority import Candidate, candidate, is_tried, ordered
from podling_vpa.updater.rate_limits import RateLimit
from podling_vpa.updater.resize import NothingToResize, resize_patch
from podling_vpa.updater.settings import DEFAULT_SETTINGS, UpdaterSettings

logger = logging.getLogger(__name__)

EVERYTHING = Key("", "autoscalers")
"""The only key: a round is about all autoscalers."""
CHANGING = (RECREATE, AUTO, IN_PLACE_OR_RECREATE, IN_PLACE)
"""The update modes that change living pods; ``Auto`` means ``Recreate``."""
NODE_CAPACITY = "NodeCapacity"
"""The cause in the refusal of a resize that no node could carry out."""
SKIPPED = (
    "Previously recorded in-place update was infeasible, current recommendation is not lower than previous, "
    "skipping resize"
)

Selected = tuple[VerticalPodAutoscaler, LabelSelector]


class UpdaterController(Controller):
    """Does nothing while there is no autoscaler.

    Args:
        gates: the feature gates.
    """

    name: ClassVar[str] = "vpa-updater"

    def __init__(
        self,
        context: ControllerContext,
        *,
        settings: UpdaterSettings = DEFAULT_SETTINGS,
        gates: Mapping[str, bool] = FEATURE_GATES,
    ) -> None:
        super().__init__(context)
        self._settings, self._gates = settings, gates
        self._recorder = context.recorder("vpa-updater")
        self._targets = Targets(InformedReader(context.client, context.informers))
        self._evictions = RateLimit(settings.rate, settings.burst)
        self._resizes = RateLimit(settings.rate, settings.burst)
        self._resizing_since: dict[str, datetime] = {}
        """The times at which resizes were first seen, by the pods' UIDs."""
        self._infeasible: dict[str, Recommendation | None] = {}
        """The recommendations that no node could carry out, by the pods' UIDs."""
        self._pods = context.informers.informer(Pod)
        self._ranges = context.informers.informer(LimitRange)
        kinds: Sequence[type[Any]] = (ReplicaSet, StatefulSet, DaemonSet, ReplicationController)
        self._creators = {kind.__name__: context.informers.informer(kind) for kind in kinds}
        self._autoscalers = context.informers.informer(VerticalPodAutoscaler)
        self._autoscalers.add_handler(self._follow, lambda _, new: self._follow(new))

    def _follow(self, autoscaler: VerticalPodAutoscaler) -> None:
        """Begin the rounds; a round that is queued already keeps its time."""
        self.queue.add_after(EVERYTHING, self._settings.interval)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        if not len(self._autoscalers):
            return AwaitChange()
        with suppress(Unreachable):  # the next round may find the API server again
            await self._round()
        return RequeueAfter(self._settings.interval)

    async def _round(self) -> None:
        """Do what one round does. Raises ``Unreachable``."""
        selected = [found for each in self._changing() if (found := await self._selected(each)) is not None]
        pods = [pod for pod in self._pods.values() if _can_be_updated(pod)]
        living = {pod.metadata.uid for pod in pods}
        for notes in (self._resizing_since, self._infeasible):
            for uid in [each for each in notes if each not in living]:
                del notes[uid]
        controlled: dict[Key, list[Pod]] = {}
        for pod in pods if selected else ():
            autoscaler = await self._controlling(pod, selected)
            if autoscaler is not None:
                controlled.setdefault(key_of(autoscaler), []).append(pod)
        for autoscaler, _ in selected:
            if key_of(autoscaler) in controlled:
                await self._update(autoscaler, controlled[key_of(autoscaler)])

    def _changing(self) -> list[VerticalPodAutoscaler]:
        return sorted(
            (each for each in self._autoscalers.values() if each.update_mode in CHANGING), key=key_of
        )

    async def _selected(self, autoscaler: VerticalPodAutoscaler) -> Selected | None:
        namespace = autoscaler.metadata.namespace or ""
        try:
            return autoscaler, await self._targets.selector(namespace, autoscaler.spec.target_ref)
        except NoTarget:
            return None

    async def _controlling(self, pod: Pod, selected: Sequence[Selected]) -> VerticalPodAutoscaler | None:
        """Return the autoscaler of a pod: of those of its controller the oldest one."""
        namespace, labels = pod.metadata.namespace or "", pod.metadata.labels
        near = [
            autoscaler
            for autoscaler, selector in selected
            if autoscaler.metadata.namespace == namespace and selector.matches(labels)
        ]
        if not near:
            return None
        try:
            controller = await self._targets.controller_of_pod(pod, namespace)
        except NoTarget as error:
            logger.info("no parent controller of pod %s: %s", key_of(pod), error)
            return None
        if controller is None:
            return None
        return strongest(each for each in near if targets_controller(each, controller))

    async def _update(self, autoscaler: VerticalPodAutoscaler, pods: Sequence[Pod]) -> None:
        """Update those pods of an autoscaler that need it, as many as may be missing."""
        groups = groups_of(pods, autoscaler, self._settings, self._replicas)
        namespace = autoscaler.metadata.namespace or ""
        limits = namespace_limits(
            each for each in self._ranges.values() if each.metadata.namespace == namespace
        )
        is_resizer = resizes(autoscaler, allows_in_place=self._gates[IN_PLACE_GATE])
        if autoscaler.update_mode == IN_PLACE and not is_resizer:
            return
        evictable: list[Pod] = []
        if is_resizer:
            possible = [pod for pod in pods if self._may_resize(pod, autoscaler, groups)]
            for each in self._candidates(possible, autoscaler, limits):
                if not await self._resize(each.pod, autoscaler, groups, limits):
                    evictable.append(each.pod)
        else:
            possible = [pod for pod in pods if self._can_evict(pod, groups)]
            evictable = [each.pod for each in self._candidates(possible, autoscaler, limits)]
        for pod in evictable:
            if self._can_evict(pod, groups):
                await self._evict(pod, autoscaler, groups)

    def _candidates(
        self, pods: Sequence[Pod], autoscaler: VerticalPodAutoscaler, limits: NamespaceLimits
    ) -> list[Candidate]:
        """Return the pods that need an update, the most urgent first."""
        policy, settings = autoscaler.spec.update_policy, self._settings
        if policy is not None and policy.evict_after_oom_seconds is not None and self._gates[PER_VPA_CONFIG]:
            threshold = timedelta(seconds=policy.evict_after_oom_seconds)
            settings = structs.replace(settings, oom_threshold=threshold)
        found = []
        for pod in pods:
            recommended = processed(autoscaler, pod, limits)
            if recommended is None:
                continue
            each = candidate(pod, autoscaler, recommended.recommendation, settings, clock.now())
            if each is not None:
                found.append(each)
        return ordered(found, policy.eviction_requirements if policy is not None else ())

    def _may_resize(self, pod: Pod, autoscaler: VerticalPodAutoscaler, groups: Mapping[Key, Group]) -> bool:
        """Return whether a pod is looked at for a resize, or for the eviction that follows a failed one."""
        tried = self._infeasible.get(pod.metadata.uid or "")
        if key_of(pod) in groups and is_tried(autoscaler, autoscaler.status.recommendation, tried):
            self._recorder.event(pod, "Normal", "InPlaceResizeSkipped", SKIPPED)
            return False
        decision = self._decision(pod, autoscaler, groups)
        if autoscaler.update_mode == IN_PLACE:
            return decision is not Decision.EVICT
        return decision in (Decision.APPROVED, Decision.EVICT)

    def _decision(self, pod: Pod, autoscaler: VerticalPodAutoscaler, groups: Mapping[Key, Group]) -> Decision:
        return resize_decision(pod, autoscaler, groups.get(key_of(pod)), self._since(pod), clock.now())

    def _can_evict(self, pod: Pod, groups: Mapping[Key, Group]) -> bool:
        return can_evict(pod, groups.get(key_of(pod)), self._since(pod), clock.now())

    def _since(self, pod: Pod) -> datetime:
        """Return the time at which the pod's resize was first seen; now for one that begins."""
        now, uid = clock.now(), pod.metadata.uid or ""
        if not is_resizing(pod):
            self._resizing_since.pop(uid, None)
            return now
        return self._resizing_since.setdefault(uid, now)

    async def _resize(
        self,
        pod: Pod,
        autoscaler: VerticalPodAutoscaler,
        groups: Mapping[Key, Group],
        limits: NamespaceLimits,
    ) -> bool:
        """Resize a pod if it may be resized now. Return whether it is not to be evicted instead."""
        decision, is_only = self._decision(pod, autoscaler, groups), autoscaler.update_mode == IN_PLACE
        if decision is Decision.EVICT:
            return False
        if decision is Decision.INFEASIBLE:
            self._infeasible[pod.metadata.uid or ""] = autoscaler.status.recommendation
        elif decision is Decision.DEFERRED and (not is_only or key_of(pod) not in groups):
            return True
        await clock.sleep(self._resizes.reserve(clock.monotonic()))
        try:
            await self._send_resize(pod, autoscaler, limits)
        except (ApiError, NothingToResize) as error:
            logger.info("in-place resize of pod %s failed: %s", key_of(pod), error)
            if is_only and _is_infeasible(error):
                self._infeasible[pod.metadata.uid or ""] = autoscaler.status.recommendation
            return is_only
        self._recorder.event(pod, "Normal", "InPlaceResizedByVPA", "Pod was resized in place by VPA Updater.")
        groups[key_of(pod)].note_resize()
        return True

    async def _send_resize(
        self, pod: Pod, autoscaler: VerticalPodAutoscaler, limits: NamespaceLimits
    ) -> None:
        """Write the resources of a pod, and then its annotation. Raises ``ApiError``, ``NothingToResize``."""
        name, namespace = pod.metadata.name or "", pod.metadata.namespace
        patch = resize_patch(autoscaler, pod, limits)
        await self.client.patch(Pod, name, patch, namespace, patch_type=PatchType.JSON, subresource="resize")
        note = {"metadata": {"uid": pod.metadata.uid, "annotations": {IN_PLACE_UPDATED: "true"}}}
        with suppress(ApiError):  # the pod is resized with or without the annotation
            await self.client.patch(Pod, name, note, namespace)

    async def _evict(self, pod: Pod, autoscaler: VerticalPodAutoscaler, groups: Mapping[Key, Group]) -> None:
        await clock.sleep(self._evictions.reserve(clock.monotonic()))
        name, namespace = pod.metadata.name or "", pod.metadata.namespace
        body = Eviction(metadata=ObjectMeta(name=name, namespace=namespace))
        try:
            await self.client.create_subresource(Pod, name, "eviction", body, namespace)
        except ApiError as error:
            logger.info("eviction of pod %s failed: %s", key_of(pod), error)
            return
        text = "Pod was evicted by VPA Updater to apply resource recommendation."
        self._recorder.event(pod, "Normal", "EvictedByVPA", text)
        text = f"VPA Updater evicted Pod {name} to apply resource recommendation."
        self._recorder.event(autoscaler, "Normal", "EvictedPod", text)
        if pod.status.phase != "Pending":
            groups[key_of(pod)].note_eviction()

    def _replicas(self, creator: Creator) -> int:
        """Return the replicas that a controller of pods is to have. Raises ``NoReplicas``."""
        informer = self._creators.get(creator.kind)
        if informer is None:
            return 0  # an unknown kind: nothing is known to be missing
        found = informer.get(Key(creator.namespace, creator.name))
        count: int | None = None
        if isinstance(found, DaemonSet):
            count = found.status.number_ready
        elif found is not None:
            count = found.spec.replicas
        if not count:
            raise NoReplicas(f"{creator.kind} {creator.namespace}/{creator.name} has no replicas config")
        return int(count)


def _can_be_updated(pod: Pod) -> bool:
    """Return whether a pod has a node, and is neither at its end nor being deleted."""
    is_over = pod.status.phase in ("Succeeded", "Failed") or pod.metadata.deletion_timestamp is not None
    return bool(pod.spec.node_name) and not is_over


def _is_infeasible(error: Exception) -> bool:
    """Return whether a resize was refused because no node could carry it out."""
    if not isinstance(error, ApiError) or error.status.details is None:
        return False
    causes = error.status.details.causes
    return error.reason == "Forbidden" and any(each.reason == NODE_CAPACITY for each in causes)

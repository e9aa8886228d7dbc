"""The loop of the recommender: a round a minute over all autoscalers.

Upstream: ``recommender/routines/recommender.go``, ``recommender/input/cluster_feeder.go``.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import ClassVar

import msgspec

from podling import clock
from podling.api.core_v1 import Event, Pod
from podling.client.base import Key, PatchType, Unreachable, key_of
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.other_apis import NO_OTHER_APIS, OtherApis
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError, unless_gone
from podling.machinery.resource_metrics import GROUP_VERSION, PodMetricsList
from podling.machinery.selectors import NOTHING
from podling_vpa.capping import capped_to_policy
from podling_vpa.names import DEFAULT_RECOMMENDER, FEATURE_GATES, PER_VPA_CONFIG
from podling_vpa.recommender.checkpoint_writes import (
    collect_checkpoints,
    load_checkpoints,
    write_checkpoints,
)
from podling_vpa.recommender.conditions import conditions_of
from podling_vpa.recommender.container_state import OldOom
from podling_vpa.recommender.estimates import recommendation
from podling_vpa.recommender.model import ClusterModel, Followed, uses_recommender
from podling_vpa.recommender.oom import Oom, ooms_between, ooms_of_eviction
from podling_vpa.recommender.settings import DEFAULT_SETTINGS, RecommenderSettings
from podling_vpa.target_readers import InformedReader
from podling_vpa.targets import NoTarget, Targets
from podling_vpa.types import AutoscalerStatus, VerticalPodAutoscaler

logger = logging.getLogger(__name__)

EVERYTHING = Key("", "autoscalers")
"""The only key: a round is about all autoscalers."""
METRICS = f"/apis/{GROUP_VERSION}/pods"
OOMS_MAX = 5000
"""Out-of-memory kills that wait for the next round."""
UNREADABLE = "Cannot read targetRef"


class RecommenderController(Controller):
    """Does nothing while there is no autoscaler.

    Args:
        others: reads ``metrics.k8s.io``.
        gates: the feature gates.
    """

    name: ClassVar[str] = "vpa-recommender"
    uses_other_apis: ClassVar[bool] = True

    def __init__(
        self,
        context: ControllerContext,
        *,
        others: OtherApis = NO_OTHER_APIS,
        settings: RecommenderSettings = DEFAULT_SETTINGS,
        gates: Mapping[str, bool] = FEATURE_GATES,
    ) -> None:
        super().__init__(context)
        self._metrics, self._settings = others, settings
        self._model = ClusterModel(settings, per_autoscaler=gates[PER_VPA_CONFIG])
        self._targets = Targets(InformedReader(context.client, context.informers))
        self._ooms: deque[Oom] = deque(maxlen=OOMS_MAX)
        self._evictions_until: datetime | None = None
        self._is_loaded = False
        self._checkpoints_collected = self._aggregates_collected = clock.monotonic()
        self._pods = context.informers.informer(Pod)
        self._pods.add_handler(None, self._pod_changed)
        self._autoscalers = context.informers.informer(VerticalPodAutoscaler)
        self._autoscalers.add_handler(self._follow, lambda _, new: self._follow(new))

    def _follow(self, autoscaler: VerticalPodAutoscaler) -> None:
        """Begin the rounds; a round that is queued already keeps its time."""
        self.queue.add_after(EVERYTHING, self._settings.interval)

    def _pod_changed(self, old: Pod, new: Pod) -> None:
        self._ooms.extend(ooms_between(old, new))

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        if not len(self._autoscalers) and not self._model.followed:
            return AwaitChange()
        with suppress(Unreachable):  # the next round may find the API server again
            await self._round()
        return RequeueAfter(self._settings.interval)

    async def _round(self) -> None:
        """Do what one round does. Raises ``Unreachable``."""
        self._model.set_autoscalers([await self._followed(each) for each in self._chosen()])
        if not self._is_loaded:
            await load_checkpoints(self.client, self._model, clock.now())
            self._is_loaded = True
        self._model.set_pods(self._pods.values(), clock.now())
        await self._read_metrics()
        await self._read_evictions()
        self._count_ooms()
        self._model.forget_gone()
        for key in self._model.followed:
            with unless_gone():
                await self._recommend(key)
        for key in self._model.followed:
            now = clock.now()
            await write_checkpoints(self.client, key, self._model.saved_histories(key, now), now)
        await self._collect()

    def _chosen(self) -> list[VerticalPodAutoscaler]:
        found = [each for each in self._autoscalers.values() if uses_recommender(each, DEFAULT_RECOMMENDER)]
        return sorted(found, key=key_of)

    async def _followed(self, autoscaler: VerticalPodAutoscaler) -> Followed:
        """Return an autoscaler with its selector, which selects nothing if the target is unsupported."""
        namespace, reference = autoscaler.metadata.namespace or "", autoscaler.spec.target_ref
        try:
            selector = await self._targets.selector(namespace, reference)
        except NoTarget as error:
            return Followed(autoscaler, NOTHING, f"{UNREADABLE}. Reason: {error}")
        assert reference is not None, "there is a selector"
        unsupported = await self._targets.unsupported(namespace, reference)
        return Followed(autoscaler, NOTHING if unsupported else selector, unsupported)

    async def _read_metrics(self) -> None:
        try:
            found = msgspec.json.decode(await self._metrics.get(METRICS), type=PodMetricsList)
            self._model.add_metrics(found.items)
        except (ApiError, ValueError) as error:
            logger.warning("Cannot get ContainerMetricsSnapshot from MetricsClient: %s", error)

    async def _read_evictions(self) -> None:
        """Note the evictions for memory since the last round."""
        since, self._evictions_until = self._evictions_until, clock.now()
        if since is None:
            return
        for event in (await self.client.list(Event, field_selector="reason=Evicted")).items:
            self._ooms.extend(each for each in ooms_of_eviction(event) if each.at >= since)

    def _count_ooms(self) -> None:
        while self._ooms:
            oom = self._ooms.popleft()
            try:
                self._model.record_oom(oom)
            except OldOom as error:
                logger.info("Failed to record OOM of %s: %s", oom.pod, error)

    async def _recommend(self, key: Key) -> None:
        """Compute one recommendation, and write the status if it has changed."""
        followed, now = self._model.followed[key], clock.now()
        autoscaler = followed.autoscaler
        found = recommendation(self._model.histories(key, now), self._settings)
        status = AutoscalerStatus(
            recommendation=capped_to_policy(found, autoscaler.spec.resource_policy),
            conditions=conditions_of(
                autoscaler.status.conditions,
                unsupported=followed.unsupported,
                has_pods=self._model.has_pods(key),
                has_recommendation=bool(found.container_recommendations),
                now=now,
            ),
            observed_generation=autoscaler.metadata.generation,
        )
        if status != autoscaler.status:
            patch = [{"op": "add", "path": "/status", "value": codec.to_plain(status)}]
            await self.client.patch(
                VerticalPodAutoscaler,
                key.name,
                patch,
                key.namespace,
                patch_type=PatchType.JSON,
                subresource="status",
            )

    async def _collect(self) -> None:
        """Drop checkpoints and histories that no autoscaler uses, now and then."""
        elapsed = clock.monotonic() - self._checkpoints_collected
        if elapsed > self._settings.checkpoint_collection or not len(self._autoscalers):
            self._checkpoints_collected = clock.monotonic()
            await collect_checkpoints(self.client, [key_of(each) for each in self._autoscalers.values()])
        if clock.monotonic() - self._aggregates_collected >= self._settings.aggregate_collection:
            self._aggregates_collected = clock.monotonic()
            self._model.collect(clock.now())

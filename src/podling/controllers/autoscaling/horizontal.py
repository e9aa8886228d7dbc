"""The horizontal pod autoscaler: a look at every autoscaler once a period, never because something changed.

Upstream: ``pkg/controller/podautoscaler/horizontal.go`` and ``rate_limiters.go``.
"""

from __future__ import annotations

from contextlib import suppress
from typing import ClassVar

from msgspec import structs

from podling import clock
from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.api.autoscaling_v1 import Scale
from podling.api.autoscaling_v2 import HorizontalPodAutoscaler
from podling.api.core_v1 import Pod
from podling.client.base import Key, Unreachable, key_of
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.autoscaling import decisions
from podling.controllers.autoscaling.decisions import Decision, Seen, Unselected, decide, warning
from podling.controllers.autoscaling.metric_readings import AggregatedReads, MetricReadings
from podling.controllers.autoscaling.replica_calculator import Scaled
from podling.controllers.autoscaling.scale_targets import NoTarget, ScaleTargets
from podling.controllers.autoscaling.scaling_limits import History, Verdict, begun
from podling.controllers.autoscaling.selector_conflicts import SelectorConflicts
from podling.controllers.autoscaling.settings import DEFAULT_SETTINGS, AutoscalerSettings
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.children import BY_NAMESPACE, namespace_index
from podling.controllers.custom_kinds import CustomKinds
from podling.controllers.other_apis import NO_OTHER_APIS
from podling.machinery.errors import ApiError, is_not_found
from podling.machinery.resource import Resource
from podling.machinery.selectors import LabelSelector, SelectorError, parse_label_selector

COMPONENT = "horizontal-pod-autoscaler"


class HorizontalController(Controller):
    """One key for each autoscaler.

    Args:
        metrics: reads the metrics APIs.
    """

    name: ClassVar[str] = "horizontal-pod-autoscaler-controller"
    workers: ClassVar[int] = 5

    def __init__(
        self,
        context: ControllerContext,
        *,
        metrics: AggregatedReads = NO_OTHER_APIS,
        settings: AutoscalerSettings = DEFAULT_SETTINGS,
    ) -> None:
        super().__init__(context)
        self._settings = settings
        self._period = settings.sync_period
        self._recorder = context.recorder(COMPONENT)
        self._targets = ScaleTargets(context.client)
        self._readings = MetricReadings(metrics, self._targets.resource_of)
        self._conflicts = SelectorConflicts()
        self._histories: dict[Key, History] = {}
        self._pods = context.informers.informer(Pod)
        self._pods.add_indexer(BY_NAMESPACE, namespace_index)
        self._autoscalers = context.informers.informer(HorizontalPodAutoscaler)
        self._autoscalers.add_handler(self._follow, lambda old, new: self._follow(new), self._forget)
        kinds = CustomKinds(self._targets.follow, self._targets.forget)
        definitions = context.informers.informer(CustomResourceDefinition)
        definitions.add_handler(kinds.put, lambda old, new: kinds.put(new), kinds.remove)

    def _follow(self, hpa: HorizontalPodAutoscaler) -> None:
        """Look at an autoscaler within a period: one that is queued already keeps its turn."""
        self.queue.add_after(key_of(hpa), self._period)

    def _forget(self, hpa: HorizontalPodAutoscaler) -> None:
        self._histories.pop(key_of(hpa), None)
        self._conflicts.forget(key_of(hpa))

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        hpa = self._autoscalers.get(key)
        if hpa is None:
            return AwaitChange()
        with suppress(Unreachable):  # the next look may find the API server again
            await self._look(key, hpa)
        return RequeueAfter(self._period)

    async def _look(self, key: Key, hpa: HorizontalPodAutoscaler) -> None:
        """Decide about one autoscaler and carry it out. Raises ``Unreachable``."""
        try:
            resource, scale = await self._targets.get(key.namespace, hpa.spec.scale_target_ref)
        except NoTarget as error:
            history = self._histories.get(key, History())
            await self._write(key, hpa, decisions.without_scale(hpa, history, str(error), clock.now()))
            return
        current = scale.spec.replicas or 0
        self._histories[key] = begun(self._histories.get(key), current, clock.now())
        decision = decide(hpa, await self._seen(key, hpa, scale))
        if decision.rescale_to is not None:
            decision = await self._rescale(resource, scale, decision)
        self._histories[key] = decision.history
        await self._write(key, hpa, decision)

    async def _seen(self, key: Key, hpa: HorizontalPodAutoscaler, scale: Scale) -> Seen:
        """Return what the decision depends on; metrics are read only if they count."""
        least, current = hpa.spec.min_replicas, scale.spec.replicas or 0
        counts = (1 if least is None else least) <= current <= hpa.spec.max_replicas
        selector, wrong = self._selector(key, scale) if counts else (None, None)
        pods = self._selected(key.namespace, selector)
        if wrong is None and selector is not None:
            wrong = self._ambiguous(key, scale, selector, pods)
        readings = []
        for spec in hpa.spec.metrics if selector is not None and wrong is None else ():
            reading = await self._readings.read(spec, key.namespace, str(selector), clock.now())
            readings.append(reading)
        scaled = Scaled(
            namespace=key.namespace,
            pods=self._selected(key.namespace, selector),
            replicas=current,
            seen=scale.status.replicas,
            tolerances=decisions.tolerances_of(hpa, self._settings),
            settings=self._settings,
            now=clock.now(),
        )
        return Seen(
            scale=scale, scaled=scaled, readings=readings, history=self._histories[key], unselected=wrong
        )

    def _selector(self, key: Key, scale: Scale) -> tuple[LabelSelector | None, Unselected | None]:
        """Return the selector of a scale, or why it cannot be used."""
        text = scale.status.selector or ""
        if not text:
            event = warning("SelectorRequired", "selector is required")
            return None, Unselected(event, decisions.NO_SELECTOR)
        try:
            return parse_label_selector(text), None
        except SelectorError as error:
            why = f"couldn't convert selector into a corresponding internal selector object: {error}"
            event = warning("InvalidSelector", why)
            return None, Unselected(event, Verdict("False", "InvalidSelector", why))

    def _ambiguous(
        self, key: Key, scale: Scale, selector: LabelSelector, pods: list[Pod]
    ) -> Unselected | None:
        """Return why the pods of a selector belong to more than one autoscaler, if they do."""
        found = self._conflicts.put(key, selector, pods)
        if len(found) < 2:
            return None
        names = " ".join(f"{{{each.name} {each.namespace}}}" for each in found)
        why = f"pods by selector {scale.status.selector} are controlled by multiple HPAs: [{names}]"
        event = warning("AmbiguousSelector", why)
        return Unselected(event, Verdict("False", "AmbiguousSelector", why))

    def _selected(self, namespace: str, selector: LabelSelector | None) -> list[Pod]:
        if selector is None:
            return []
        found = self._pods.by_index(BY_NAMESPACE, namespace)
        return [pod for pod in found if selector.matches(pod.metadata.labels)]

    async def _rescale(self, resource: Resource, scale: Scale, decision: Decision) -> Decision:
        """Write the scale of a decision; return the decision with the result."""
        current = scale.spec.replicas or 0
        new = structs.replace(scale, spec=structs.replace(scale.spec, replicas=decision.rescale_to))
        try:
            await self._targets.put(resource, new)
        except ApiError as error:
            return decisions.not_rescaled(decision, current, str(error), clock.now())
        return decisions.rescaled(decision, current, clock.now())

    async def _write(self, key: Key, hpa: HorizontalPodAutoscaler, decision: Decision) -> None:
        """Record the events of a decision, and write the status if it has changed."""
        for event in decision.events:
            self._recorder.event(hpa, event.type, event.reason, event.message)
        if decision.hpa.status == hpa.status:
            return
        try:
            await self.client.update(decision.hpa, subresource="status")
        except ApiError as error:
            if not is_not_found(error):
                self._recorder.event(hpa, "Warning", "FailedUpdateStatus", str(error))

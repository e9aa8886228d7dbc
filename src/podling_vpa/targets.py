"""The controller that an autoscaler targets: the selector of its pods, and the controllers above it.

Upstream: ``target/fetcher.go``, ``target/controller_fetcher/controller_fetcher.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from msgspec import Struct

from podling.api.apps_v1 import DaemonSet, Deployment, ReplicaSet, StatefulSet
from podling.api.autoscaling_v1 import CrossVersionObjectReference
from podling.api.batch_v1 import CronJob, Job
from podling.api.core_v1 import Pod, ReplicationController
from podling.client.base import ApiObject
from podling.controllers.owner_references import controller_of
from podling.machinery.selectors import (
    LabelSelector,
    SelectorError,
    from_label_selector,
    from_labels,
    parse_label_selector,
)
from podling_vpa.names import VERSION
from podling_vpa.types import VerticalPodAutoscaler

WELL_KNOWN: Mapping[str, type[Any]] = {
    "CronJob": CronJob,
    "DaemonSet": DaemonSet,
    "Deployment": Deployment,
    "Job": Job,
    "ReplicaSet": ReplicaSet,
    "ReplicationController": ReplicationController,
    "StatefulSet": StatefulSet,
}
"""Controllers whose selector is read from their specs. All others need the subresource ``scale``."""
NODE = "Node"
NOT_TOPMOST = "has a parent controller but it should point to a topmost well-known or scalable controller"
CYCLE = "cycle detected in ownership chain"


class NoTarget(Exception):
    """A reference that leads to no pods; the text is upstream's."""


class NoScale(Exception):
    """A controller without a scale that could be read.

    Args:
        is_missing: its kind is known and there is no such object, or no scale of it.
    """

    def __init__(self, text: str, *, is_missing: bool) -> None:
        super().__init__(text)
        self.is_missing = is_missing


class NodeOwner(Exception):
    """A node is an owner of pods, but none that an autoscaler could target."""


class Controller(Struct, frozen=True):
    namespace: str
    kind: str
    name: str
    api_version: str = VERSION

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]


class TargetReader(Protocol):
    """Reads controllers from informers, or from the store."""

    def get(self, type_: type[Any], name: str, namespace: str) -> ApiObject | None:
        """Return an object of a well-known kind."""
        ...

    async def scale_selector(self, group: str, kind: str, name: str, namespace: str) -> str:
        """Return the selector in the scale of an object. Raises ``NoScale``."""
        ...


class Targets:
    """Args: ``reader`` reads controllers."""

    def __init__(self, reader: TargetReader) -> None:
        self._reader = reader

    async def selector(self, namespace: str, reference: CrossVersionObjectReference | None) -> LabelSelector:
        """Return the selector of the pods of a target. Raises ``NoTarget``."""
        if reference is None:
            raise NoTarget("targetRef not defined. If this is a v1beta1 object, switch to v1")
        try:
            if reference.kind in WELL_KNOWN:
                return _selector_of(self._known(reference.kind, reference.name, namespace))
            controller = _controller(namespace, reference)
            where = (controller.group, controller.kind, controller.name, namespace)
            text = await self._reader.scale_selector(*where)
            if not text:
                place = f"{namespace}/{reference.name}"
                why = f"resource {place} has an empty selector for scale sub-resource"
                raise NoTarget(_unhandled(controller, why))
            return parse_label_selector(text)
        except NoScale as error:
            raise NoTarget(_unhandled(controller, str(error))) from None
        except SelectorError as error:
            raise NoTarget(str(error)) from None

    async def unsupported(self, namespace: str, reference: CrossVersionObjectReference) -> str:
        """Return why a target is not the topmost controller; empty if it is."""
        target = f"{reference.api_version or ''}.{reference.kind}/{reference.name}"
        own = _controller(namespace, reference)
        check = f"if target {target} is a topmost well-known or scalable controller"
        try:
            top = await self.topmost(own)
        except NoTarget as error:
            return f"Error checking {check}: {error}"
        except NodeOwner as error:
            return f"Error checking {check}: {_unhandled(own, str(error))}"
        if top is None:
            return f"Unknown error during checking {check}"
        return "" if top == own else f"The target {target} {NOT_TOPMOST}"

    async def controller_of_pod(self, pod: Pod, namespace: str) -> Controller | None:
        """Return the topmost controller of a pod. Raises ``NoTarget``."""
        owner = controller_of(pod)
        if owner is None:
            return None
        try:
            return await self.topmost(Controller(namespace, owner.kind, owner.name, owner.api_version))
        except NodeOwner:
            return None

    async def topmost(self, controller: Controller) -> Controller | None:
        """Return the highest controller that can be targeted. Raises ``NoTarget`` and ``NodeOwner``."""
        found = controller if await self._can_scale(controller) else None
        seen = {controller}
        while (owner := await self._parent(controller)) is not None:
            if await self._can_scale(owner):
                found = owner
            if owner in seen:
                raise NoTarget(CYCLE)
            seen.add(owner)
            controller = owner
        return found

    async def _can_scale(self, controller: Controller) -> bool:
        if controller.kind in WELL_KNOWN:
            return True
        if controller.kind == NODE:
            return False
        try:
            await self._scale_selector(controller)
        except NoScale:
            return False
        return True

    async def _parent(self, controller: Controller) -> Controller | None:
        if controller.kind in WELL_KNOWN:
            found = self._known(controller.kind, controller.name, controller.namespace)
            owner = controller_of(found)
            if owner is None:
                return None
            return Controller(controller.namespace, owner.kind, owner.name, owner.api_version)
        if controller.kind == NODE:
            raise NodeOwner("node is not a valid owner")
        try:
            await self._scale_selector(controller)
        except NoScale as error:
            if not error.is_missing:
                raise NoTarget(_unhandled(controller, str(error))) from None
        return None  # a scale does not say who owns its object

    async def _scale_selector(self, controller: Controller) -> str:
        where = (controller.group, controller.kind, controller.name, controller.namespace)
        return await self._reader.scale_selector(*where)

    def _known(self, kind: str, name: str, namespace: str) -> Any:
        found = self._reader.get(WELL_KNOWN[kind], name, namespace)
        if found is None:
            raise NoTarget(f"{kind} {namespace}/{name} does not exist")
        return found


def _controller(namespace: str, reference: CrossVersionObjectReference) -> Controller:
    return Controller(namespace, reference.kind, reference.name, reference.api_version or "")


def _unhandled(controller: Controller, why: str) -> str:
    what = f"{controller.api_version} / {controller.kind} / {controller.name}"
    return f"unhandled targetRef {what}, last error {why}"


def _selector_of(found: Any) -> LabelSelector:
    """Return the selector in the spec of a well-known controller. Raises ``SelectorError``."""
    match found:
        case CronJob():
            return from_labels(found.spec.job_template.spec.template.metadata.labels)
        case ReplicationController():
            return from_labels(found.spec.selector)
    return from_label_selector(found.spec.selector)


def targets_controller(autoscaler: VerticalPodAutoscaler, controller: Controller) -> bool:
    """Return whether an autoscaler names a controller, in any version of its group."""
    reference = autoscaler.spec.target_ref
    if reference is None or autoscaler.metadata.namespace != controller.namespace:
        return False
    return (reference.kind, reference.name) == (controller.kind, controller.name)


def strongest(autoscalers: Iterable[VerticalPodAutoscaler]) -> VerticalPodAutoscaler | None:
    """Return the autoscaler that was created first; of those of one time the first by name."""
    return min(autoscalers, key=_strength, default=None)


def _strength(autoscaler: VerticalPodAutoscaler) -> tuple[float, str]:
    created = autoscaler.metadata.creation_timestamp
    return (created.timestamp() if created is not None else 0.0, autoscaler.metadata.name or "")

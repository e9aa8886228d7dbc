"""Admission of new pods: they get the requests that the autoscaler of their controller recommends.

Upstream: ``admission-controller/resource/pod/handler.go``, ``resource/vpa/matcher.go``.
"""

from __future__ import annotations

import logging
from typing import Any

from podling.api.apiextensions_v1 import CustomResourceDefinition, CustomResourceSubresourceScale
from podling.api.core_v1 import LimitRange, Pod
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin, Server
from podling.client.base import ApiObject
from podling.client.typed_kinds import typed
from podling.controllers.owner_references import controller_of
from podling.machinery.scheme import Resource
from podling_vpa.limit_ranges import namespace_limits
from podling_vpa.names import OFF
from podling_vpa.pod_changes import with_recommendation
from podling_vpa.targets import NoScale, NoTarget, Targets, strongest, targets_controller
from podling_vpa.types import VerticalPodAutoscaler

logger = logging.getLogger(__name__)


class PodAdmission(Plugin):
    name = "VerticalPodAutoscalerPods"

    def __init__(self) -> None:
        self._server: Server

    def initialize(self, server: Server) -> None:
        self._server = server

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        is_pod = (resource.group, resource.plural) == ("", "pods")
        return is_pod and operation is Operation.CREATE and not subresource

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        pod: Pod = request.object
        if controller_of(pod) is None:
            return pod
        kind = VerticalPodAutoscaler.custom_resource.type
        stored = await objects.list(kind, request.namespace)
        if not stored:
            return pod
        found = [typed(each, VerticalPodAutoscaler) for each in stored]
        autoscaler = await self._controlling(pod, request.namespace, found, objects)
        if autoscaler is None:
            return pod
        ranges = await objects.list(LimitRange, request.namespace)
        return with_recommendation(pod, autoscaler, namespace_limits(ranges))

    async def _controlling(
        self, pod: Pod, namespace: str, found: list[VerticalPodAutoscaler], objects: Objects
    ) -> VerticalPodAutoscaler | None:
        """Return the autoscaler of a pod: of those of its controller the oldest one."""
        targets = Targets(StoredReader(self._server, objects))
        try:
            controller = await targets.controller_of_pod(pod, namespace)
        except NoTarget as error:
            logger.info("no parent controller of pod %s/%s: %s", namespace, pod.metadata.name, error)
            return None
        if controller is None:
            return None
        chosen = []
        for each in found:
            if each.update_mode == OFF or not targets_controller(each, controller):
                continue
            try:
                selector = await targets.selector(namespace, each.spec.target_ref)
            except NoTarget:
                continue
            if selector.matches(pod.metadata.labels):
                chosen.append(each)
        return strongest(chosen)


class StoredReader:
    """Reads controllers from the store."""

    def __init__(self, server: Server, objects: Objects) -> None:
        self._server, self._objects = server, objects

    def get(self, type_: type[Any], name: str, namespace: str) -> ApiObject | None:
        found: ApiObject | None = self._objects.get(type_, name, namespace)
        return found

    async def scale_selector(self, group: str, kind: str, name: str, namespace: str) -> str:
        """Return the selector that a custom object's scale would have. Raises ``NoScale``."""
        for definition in await self._objects.list(CustomResourceDefinition):
            if (definition.spec.group, definition.status.accepted_names.kind) == (group, kind):
                return self._selector(definition, name, namespace)
        raise NoScale(f'no matches for kind "{kind}" in group "{group}"', is_missing=False)

    def _selector(self, definition: CustomResourceDefinition, name: str, namespace: str) -> str:
        spec = definition.spec
        version = next(each for each in spec.versions if each.storage)
        scale: CustomResourceSubresourceScale | None = (
            version.subresources.scale if version.subresources is not None else None
        )
        resource = self._server.resource(spec.group, version.name, definition.status.accepted_names.kind)
        if scale is None or resource is None:
            raise NoScale("the server could not find the requested resource", is_missing=True)
        found = self._objects.get(resource.type, name, namespace)
        if found is None:
            text = f'{resource.group_resource} "{name}" not found'
            raise NoScale(text, is_missing=True)
        return _text_at(found.content, scale.label_selector_path or "")


def _text_at(content: Any, path: str) -> str:
    """Return the text at a path like ``.status.selector``; empty if there is none."""
    for step in path.strip(".").split("."):
        content = content.get(step) if isinstance(content, dict) else None
    return content if isinstance(content, str) else ""

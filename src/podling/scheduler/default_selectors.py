"""Default selectors of pods: from the services and the workload that select them.

Default spreading uses them. The selector of a pod joins those of all services that select it and of its
owning controller. Upstream: ``pkg/scheduler/framework/plugins/helper/spread.go``.
"""

from __future__ import annotations

from collections.abc import Mapping

from podling.machinery.selectors import LabelSelector, Requirement, from_labels
from podling.scheduler.podfacts import PodFacts

OWNER_KINDS = (("v1", "ReplicationController"), ("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet"))
"""API version and kind: other groups have kinds of the same names."""

OwnerKey = tuple[str, str, str]
"""Kind, namespace and name."""


class Workloads:
    """The selectors of services and owning controllers, kept by the informers' handlers."""

    def __init__(self) -> None:
        self._services: dict[str, dict[str, LabelSelector]] = {}
        self._owners: dict[OwnerKey, LabelSelector] = {}

    def set_service(self, namespace: str, name: str, selector: Mapping[str, str]) -> None:
        """A service without a selector selects nothing."""
        if selector:
            self._services.setdefault(namespace, {})[name] = from_labels(selector)
        else:
            self.remove_service(namespace, name)

    def remove_service(self, namespace: str, name: str) -> None:
        services = self._services.get(namespace, {})
        services.pop(name, None)
        if not services:
            self._services.pop(namespace, None)

    def set_owner(self, key: OwnerKey, selector: LabelSelector) -> None:
        self._owners[key] = selector

    def remove_owner(self, key: OwnerKey) -> None:
        self._owners.pop(key, None)

    def selector_for(self, pod: PodFacts) -> LabelSelector | None:
        """Return the joint selector of the pod; None for a pod without service and owner."""
        requirements: list[Requirement] = []
        for service in self._services.get(pod.namespace, {}).values():
            if service.matches(pod.labels):
                requirements += service.requirements
        for owner in pod.pod.metadata.owner_references:
            if owner.controller and (owner.api_version, owner.kind) in OWNER_KINDS:
                found = self._owners.get((owner.kind, pod.namespace, owner.name))
                requirements += found.requirements if found and not found.never else ()
        return LabelSelector(tuple(dict.fromkeys(requirements))) if requirements else None

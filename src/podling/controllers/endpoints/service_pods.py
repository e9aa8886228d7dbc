"""Shared by controllers of endpoints: a change of a pod requeues the services that select it."""

from __future__ import annotations

from podling.api.core_v1 import Pod, Service
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.children import BY_NAMESPACE, namespace_index
from podling.controllers.endpoints import endpoint_rules as rules
from podling.controllers.pod_index import index_pods_by_label


class ServicePodsController(Controller):
    """The keys are services. ``pods_with`` works on the pods."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._services = context.informers.informer(Service)
        self._pods = context.informers.informer(Pod)
        self._services.add_indexer(BY_NAMESPACE, namespace_index)
        index_pods_by_label(self._pods)
        self._pods.add_handler(self._wake, self._wake_both, self._wake)

    def _wake(self, pod: Pod) -> None:
        for service in self._services.by_index(BY_NAMESPACE, pod.metadata.namespace or ""):
            if rules.selects(service, pod):
                self.enqueue(service)

    def _wake_both(self, old: Pod, new: Pod) -> None:
        changed = rules.relevant(old) != rules.relevant(new)
        if not changed and old.metadata.labels == new.metadata.labels:
            return
        for service in self._services.by_index(BY_NAMESPACE, new.metadata.namespace or ""):
            if rules.is_concerned(service, old, new, changed=changed):
                self.enqueue(service)

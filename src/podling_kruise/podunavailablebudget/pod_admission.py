"""Admission of operations on pods that have a PodUnavailableBudget.

A new pod gets the name of its budget in an annotation. Deletions, evictions and updates spend the budget.
Upstream: ``pod_unavailable_budget.go`` of ``pkg/webhook/pod/mutating`` and ``pkg/webhook/pod/validating``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from podling.api.apps_v1 import ReplicaSet
from podling.api.core_v1 import Pod
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin, Server
from podling.client.events import EventRecorder
from podling.client.typed_kinds import TypedClient, typed
from podling.controllers.owner_references import controller_of
from podling.machinery.errors import ApiError
from podling.machinery.scheme import Resource
from podling.machinery.selectors import readable_selector
from podling_kruise.names import (
    BUDGET_DELETE_GATE,
    BUDGET_UPDATE_GATE,
    DEPRECATED_RELATED_BUDGET,
    RELATED_BUDGET,
)
from podling_kruise.podunavailablebudget.guard import BudgetGuard
from podling_kruise.podunavailablebudget.pod_changes import operation_of
from podling_kruise.podunavailablebudget.protection import budget_name
from podling_kruise.podunavailablebudget.types import DELETE, EVICT, PodUnavailableBudget, TargetReference
from podling_kruise.podunavailablebudget.validation import is_same_target

COMPONENT = "pub-controller"
_STEPS = {
    (Operation.CREATE, ""),
    (Operation.CREATE, "eviction"),
    (Operation.DELETE, ""),
    (Operation.UPDATE, ""),
    (Operation.UPDATE, "resize"),
}


class BudgetProtection(Plugin):
    """Args: ``gates``: the feature gates."""

    name = "PodUnavailableBudgetProtection"

    def __init__(self, gates: Mapping[str, bool]) -> None:
        self._gates = gates
        self._guard: BudgetGuard
        self._recorder: EventRecorder

    def initialize(self, server: Server) -> None:
        self._guard = BudgetGuard(TypedClient(server.client))
        self._recorder = server.recorder(COMPONENT)

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        if (resource.group, resource.plural) != ("", "pods") or (operation, subresource) not in _STEPS:
            return False
        if operation is Operation.UPDATE:
            return self._gates[BUDGET_UPDATE_GATE]
        if operation is Operation.CREATE and not subresource:
            return self._gates[BUDGET_DELETE_GATE] or self._gates[BUDGET_UPDATE_GATE]
        return self._gates[BUDGET_DELETE_GATE]

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        """Return a new pod with the name of its budget."""
        if request.operation is not Operation.CREATE or request.subresource:
            return request.object
        pod: Pod = request.object
        listed = await objects.list(PodUnavailableBudget.custom_resource.type, request.namespace)
        if not listed:
            return pod
        target = _workload_of(pod, request.namespace, objects)
        budgets = (typed(each, PodUnavailableBudget) for each in listed)
        found = next((each for each in budgets if _covers(each, pod, target)), None)
        if found is None or budget_name(pod) == found.metadata.name:
            return pod
        names = dict.fromkeys((RELATED_BUDGET, DEPRECATED_RELATED_BUDGET), found.metadata.name or "")
        metadata = structs.replace(pod.metadata, annotations={**pod.metadata.annotations, **names})
        return structs.replace(pod, metadata=metadata)

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        """Spend the budget for an operation that takes a pod away. Raises 403."""
        pod, operation = _operation(request, objects)
        if pod is None or not operation or not budget_name(pod):
            return
        dry_run = request.dry_run or _is_dry(request.object)
        try:
            await self._guard.spend(pod, operation, dry_run=dry_run)
        except ApiError as error:
            if error.code == 403 and not dry_run:
                text = "openkruise pub prevents pod deletion"
                self._recorder.event(pod, "Warning", "PubPreventPodDeletion", text)
            raise


def _operation(request: AdmissionRequest, objects: Objects) -> tuple[Pod | None, str]:
    """Return the pod before the operation, and the operation; no pod where there is none to protect."""
    if request.operation is Operation.DELETE:
        return request.old, DELETE
    if request.subresource == "eviction":
        return objects.get(Pod, request.name, request.namespace), EVICT
    if request.operation is Operation.UPDATE and budget_name(request.object):
        return request.old, operation_of(request.old, request.object)
    return None, ""


def _is_dry(body: Any) -> bool:
    """Return whether the options in the body of an eviction are those of a dry run."""
    options = getattr(body, "delete_options", None)
    return options is not None and "All" in options.dry_run


def _workload_of(pod: Pod, namespace: str, objects: Objects) -> TargetReference | None:
    """Return the workload of a pod: its controller, or the Deployment behind that."""
    ref = controller_of(pod)
    if ref is not None and ref.kind == "ReplicaSet":
        held = objects.get(ReplicaSet, ref.name, namespace)
        above = controller_of(held) if held is not None else None
        ref = above if above is not None and above.kind == "Deployment" else ref
    if ref is None:
        return None
    return TargetReference(api_version=ref.api_version, kind=ref.kind, name=ref.name)


def _covers(budget: PodUnavailableBudget, pod: Pod, target: TargetReference | None) -> bool:
    """Return whether the pod is one of the budget's."""
    if budget.spec.target_ref is not None:
        return target is not None and is_same_target(budget.spec.target_ref, target)
    selector = readable_selector(budget.spec.selector)
    return selector is not None and not selector.empty and selector.matches(pod.metadata.labels)

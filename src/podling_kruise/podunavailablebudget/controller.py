"""The status of PodUnavailableBudgets, which admission spends.

Flow: find the pods of a budget, and how many there are to be; write the budget's name on pods that have none;
compute the numbers. A write that meets one of admission is left to the next run: the budget's event wakes it.
Upstream: ``pkg/controller/podunavailablebudget``.
"""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import structs

from podling import clock
from podling.api.core_v1 import Pod
from podling.api.meta_v1 import OwnerReference
from podling.client.base import Key, key_of
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.children import BY_CONTROLLER, BY_NAMESPACE, controller_index, namespace_index
from podling.controllers.owner_references import controller_of
from podling.controllers.pod_index import index_pods_by_label, pods_with
from podling.controllers.pod_state import is_active
from podling.machinery.errors import ApiError, is_conflict, unless_gone
from podling.machinery.selectors import parse_label_selector, readable_selector
from podling_kruise.names import DEPRECATED_RELATED_BUDGET, RELATED_BUDGET
from podling_kruise.podunavailablebudget.protection import budget_name, is_available
from podling_kruise.podunavailablebudget.status_rules import records, status_of
from podling_kruise.podunavailablebudget.types import PodUnavailableBudget, TargetReference
from podling_kruise.podunavailablebudget.validation import is_same_target
from podling_kruise.podunavailablebudget.workloads import Workloads, reference_to


class BudgetController(Controller):
    """One key for each budget."""

    name: ClassVar[str] = "podunavailablebudget-controller"
    workers: ClassVar[int] = 3

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        informers = context.informers
        self._recorder = context.recorder(self.name)
        self._budgets = informers.informer(PodUnavailableBudget)
        self._budgets.add_indexer(BY_NAMESPACE, namespace_index)
        self._budgets.add_handler(self.enqueue, self.enqueue_changed)
        self._pods = informers.informer(Pod)
        self._pods.add_indexer(BY_NAMESPACE, namespace_index)
        self._pods.add_indexer(BY_CONTROLLER, controller_index)
        index_pods_by_label(self._pods)
        self._pods.add_handler(self._of_pod, self._of_changed_pod, self._of_pod)
        self._workloads = Workloads(context.client, informers, self._of_workload)

    def _of_pod(self, pod: Pod) -> None:
        if name := budget_name(pod):
            self.queue.add(Key(pod.metadata.namespace or "", name))

    def _of_changed_pod(self, old: Pod, new: Pod) -> None:
        if (is_available(old), budget_name(old)) != (is_available(new), budget_name(new)):
            self._of_pod(new)

    def _of_workload(self, workload: Any) -> None:
        """Run the budgets of a workload's pods: with its number, the number of pods that may go changes."""
        target, labels = reference_to(workload), workload.spec.template.metadata.labels
        for budget in self._budgets.by_index(BY_NAMESPACE, workload.metadata.namespace or ""):
            if budget.spec.target_ref is not None:
                if is_same_target(budget.spec.target_ref, target):
                    self.enqueue(budget)
                continue
            selector = readable_selector(budget.spec.selector)
            if selector is not None and selector.matches(labels):
                self.enqueue(budget)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        budget = self._budgets.get(key)
        if budget is None or budget.metadata.deletion_timestamp is not None:
            return AwaitChange()
        pods, total = await self._pods_of(budget)
        if not pods:
            self._recorder.event(budget, "Normal", "NoPods", "No matching pods found")
        for pod in pods:
            await self._relate(budget, pod)
        now = clock.now()
        found = records(budget.status, pods, now)
        try:
            status = status_of(budget, pods, total, found)
        except ValueError as error:
            text = f"Failed to calculate the number of expected pods: {error}"
            self._recorder.event(budget, "Warning", "CalculateExpectedPodCountFailed", text)
            return AwaitChange()
        if status != budget.status:
            try:
                await self.write_status(structs.replace(budget, status=status))
            except ApiError as error:
                if is_conflict(error):
                    return AwaitChange()  # the event of the other write wakes the budget
                raise
        for pod in found.broken:
            name = f"{budget.metadata.namespace}/{budget.metadata.name}"
            text = f"Pod was expected by PUB {name} to be deleted but it wasn't"
            self._recorder.event(pod, "Warning", "NotDeleted", text)
        return RequeueAfter(found.seconds + 0.1) if found.seconds is not None else AwaitChange()

    async def _pods_of(self, budget: PodUnavailableBudget) -> tuple[list[Pod], int]:
        """Return the active pods of a budget, and how many there are to be."""
        spec = budget.spec
        if spec.target_ref is not None:
            pods, total = await self._pods_of_target(budget, spec.target_ref)
        else:
            pods = self._selected(budget)
            total = await self._wanted(pods) if spec.protect_total_replicas is None else 0
        active = [pod for pod in pods if is_active(pod)]
        return active, total if spec.protect_total_replicas is None else spec.protect_total_replicas

    async def _pods_of_target(
        self, budget: PodUnavailableBudget, target: TargetReference
    ) -> tuple[list[Pod], int]:
        namespace = budget.metadata.namespace or ""
        ref = OwnerReference(api_version=target.api_version, kind=target.kind, name=target.name)
        workload = await self._workloads.find(ref, namespace)
        if workload is None or not workload.replicas:
            return [], 0
        owners = self._workloads.owners_of_pods(workload)
        pods = [pod for uid in owners for pod in self._pods.by_index(BY_CONTROLLER, uid)]
        if not pods and workload.selector:  # a workload that does not own its pods itself
            wanted = parse_label_selector(workload.selector)
            listed = self._pods.by_index(BY_NAMESPACE, namespace)
            pods = [pod for pod in listed if wanted.matches(pod.metadata.labels)]
        return pods, workload.replicas

    def _selected(self, budget: PodUnavailableBudget) -> list[Pod]:
        selector, wanted = readable_selector(budget.spec.selector), budget.spec.selector
        if selector is None or wanted is None or selector.empty:
            return []
        namespace = budget.metadata.namespace or ""
        if wanted.match_labels:
            pods = pods_with(self._pods, namespace, wanted.match_labels)
        else:
            pods = list(self._pods.by_index(BY_NAMESPACE, namespace))
        return [pod for pod in pods if is_active(pod) and selector.matches(pod.metadata.labels)]

    async def _wanted(self, pods: list[Pod]) -> int:
        """Return how many pods the workloads of these pods are to have together."""
        owners = {ref.uid: (ref, pod) for pod in pods if (ref := controller_of(pod)) is not None}
        found = [
            await self._workloads.find(ref, pod.metadata.namespace or "") for ref, pod in owners.values()
        ]
        # By what is scaled: the replica sets of one Deployment count once.
        return sum({each.uid: each.replicas for each in found if each is not None}.values())

    async def _relate(self, budget: PodUnavailableBudget, pod: Pod) -> None:
        """Write the budget's name on a pod that has none, or that of a budget which is gone."""
        held = budget_name(pod)
        key = key_of(budget)
        if held == key.name or (held and self._budgets.get(Key(key.namespace, held)) is not None):
            return
        names = dict.fromkeys((RELATED_BUDGET, DEPRECATED_RELATED_BUDGET), key.name)
        patch = {"metadata": {"uid": pod.metadata.uid, "annotations": names}}
        with unless_gone():
            await self.client.patch(Pod, pod.metadata.name or "", patch, pod.metadata.namespace)

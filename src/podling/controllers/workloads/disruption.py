"""The status of PodDisruptionBudgets, which the eviction API obeys.

Flow: a change of a budget, or of a pod that matches it, computes its numbers again
(``disruption_rules``). The owners of the pods state the expected number: deployments, replica sets, stateful
sets, replication controllers. A budget that cannot be computed allows nothing, with a reason.

A second, smaller loop takes the mark ``DisruptionTarget`` off pods whose disruption did not come.
Upstream: ``pkg/controller/disruption``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import ClassVar

from msgspec import structs

from podling import clock
from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.api.apps_v1 import Deployment, ReplicaSet, StatefulSet
from podling.api.autoscaling_v1 import Scale
from podling.api.core_v1 import Pod, PodCondition, ReplicationController
from podling.api.meta_v1 import OwnerReference
from podling.api.policy_v1 import PodDisruptionBudget, PodDisruptionBudgetStatus
from podling.client.base import Key, Unreachable
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.controllers.children import BY_NAMESPACE, namespace_index
from podling.controllers.custom_kinds import CustomKinds
from podling.controllers.owner_references import controller_of, resource_named
from podling.controllers.pod_index import index_pods_by_label, pods_with
from podling.controllers.status_writes import write_status
from podling.controllers.workloads import disruption_rules as rules
from podling.machinery.conditions import with_condition
from podling.machinery.errors import ApiError, is_not_found
from podling.machinery.pods import is_terminal
from podling.machinery.scheme import Resource, resource_of
from podling.machinery.selectors import readable_selector

UNMANAGED = (
    "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a result, the "
    "status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account "
    'for these pods please set ".spec.minAvailable" field of the PDB to an integer value.'
)


class Uncountable(Exception):
    """The expected number of pods is unknown."""


class DisruptionController(Controller):
    name: ClassVar[str] = "disruption-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._recorder = context.recorder("controllermanager")
        self._budgets = context.informers.informer(PodDisruptionBudget)
        self._pods = context.informers.informer(Pod)
        self._deployments = context.informers.informer(Deployment)
        self._sets = context.informers.informer(ReplicaSet)
        self._stateful = context.informers.informer(StatefulSet)
        self._budgets.add_indexer(BY_NAMESPACE, namespace_index)
        self._pods.add_indexer(BY_NAMESPACE, namespace_index)
        index_pods_by_label(self._pods)
        self._custom = CustomKinds(lambda resource: None, lambda resource: None)
        definitions = context.informers.informer(CustomResourceDefinition)
        definitions.add_handler(self._custom.put, lambda old, new: self._custom.put(new), self._custom.remove)
        self._budgets.add_handler(self.enqueue, self.enqueue_changed)
        self._pods.add_handler(self._wake, self._wake_both, self._wake)

    def _wake(self, pod: Pod) -> None:
        matching = [
            budget
            for budget in self._budgets.by_index(BY_NAMESPACE, pod.metadata.namespace or "")
            if (selector := readable_selector(budget.spec.selector)) is not None
            and selector.matches(pod.metadata.labels)
        ]
        for budget in matching:
            self.enqueue(budget)
        if len(matching) > 1:
            which = f'"{pod.metadata.namespace}"/"{pod.metadata.name}"'
            text = f"Pod {which} matches multiple PodDisruptionBudgets.  "
            text += f'Chose "{matching[0].metadata.name}" arbitrarily.'
            self._recorder.event(pod, "Warning", "MultiplePodDisruptionBudgets", text)

    def _wake_both(self, old: Pod, new: Pod) -> None:
        self._wake(new)
        if old.metadata.labels != new.metadata.labels:
            self._wake(old)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        budget = self._budgets.get(key)
        if budget is None:
            return AwaitChange()
        try:
            return await self._sync(budget)
        except (Uncountable, ValueError) as error:
            await self._allow_nothing(budget, error)
            return AwaitChange()

    async def _sync(self, budget: PodDisruptionBudget) -> RequeueAfter | AwaitChange:
        pods, now = self._pods_of(budget), clock.now()
        if not pods:
            self._recorder.event(budget, "Normal", "NoPods", "No matching pods found")
        try:
            scale = await self._scale(budget, pods) if rules.needs_scale(budget) else 0
        except (ApiError, Unreachable) as error:
            await self._allow_nothing(budget, error)
            raise
        expected = rules.expectation(budget, len(pods), scale)
        promised = rules.promised(budget, pods, now)
        healthy = rules.healthy(pods, promised.pods)
        await self._write(budget, rules.status_of(budget, expected, healthy, promised.pods, now))
        name = f"{budget.metadata.namespace}/{budget.metadata.name}"
        for pod in promised.broken:
            message = f"Pod was expected by PDB {name} to be deleted but it wasn't"
            self._recorder.event(pod, "Warning", "NotDeleted", message)
        return RequeueAfter(promised.seconds + 1) if promised.seconds is not None else AwaitChange()

    async def _allow_nothing(self, budget: PodDisruptionBudget, error: Exception) -> None:
        """Allow no eviction while the expected number of pods is unknown. Source: ``failSafe``."""
        message = f"Failed to calculate the number of expected pods: {error}"
        self._recorder.event(budget, "Warning", "CalculateExpectedPodCountFailed", message)
        await self._write(budget, rules.failed_status(budget, str(error), clock.now()))

    def _pods_of(self, budget: PodDisruptionBudget) -> list[Pod]:
        selector = readable_selector(budget.spec.selector)
        if selector is None:
            raise Uncountable("the selector is not valid")
        namespace, wanted = budget.metadata.namespace or "", budget.spec.selector
        if wanted is not None and wanted.match_labels:
            pods = pods_with(self._pods, namespace, wanted.match_labels)
        else:
            pods = list(self._pods.by_index(BY_NAMESPACE, namespace))
        return [pod for pod in pods if selector.matches(pod.metadata.labels)]

    async def _scale(self, budget: PodDisruptionBudget, pods: Sequence[Pod]) -> int:
        """Return the sum of the replicas of these pods' owners; record an event about pods without one."""
        owners = {ref.uid: (ref, pod) for pod in pods if (ref := controller_of(pod)) is not None}
        unmanaged = any(controller_of(pod) is None for pod in pods)
        # By what is scaled: the replica sets of one deployment count once.
        wanted = dict([await self._scale_of(ref, pod) for ref, pod in owners.values()])
        if unmanaged:
            text = UNMANAGED.format(rules.go_text(budget.spec.selector))
            self._recorder.event(budget, "Warning", "UnmanagedPods", text)
        return sum(wanted.values())

    async def _scale_of(self, ref: OwnerReference, pod: Pod) -> tuple[str, int]:
        """Return the UID of the scaled owner (the Deployment of a replica set), and its replicas."""
        resource, key = resource_named(ref), Key(pod.metadata.namespace or "", ref.name)
        if resource is resource_of(ReplicaSet):
            held = self._sets.get(key)
            if held is not None and held.metadata.uid == ref.uid:
                return self._scale_of_set(held)
        elif resource is resource_of(StatefulSet):
            stateful = self._stateful.get(key)
            if stateful is not None and stateful.metadata.uid == ref.uid:
                return ref.uid, _replicas(stateful.spec.replicas)
        elif resource is resource_of(ReplicationController):
            try:
                found = await self.client.get(ReplicationController, key.name, key.namespace)
            except ApiError as error:
                if not is_not_found(error):
                    raise
            else:
                if found.metadata.uid == ref.uid:
                    return ref.uid, _replicas(found.spec.replicas)
        else:
            scale = await self._scale_of_any(ref, key, resource or self._custom.named(ref))
            if scale is not None and scale.metadata.uid == ref.uid:
                return ref.uid, scale.spec.replicas or 0
        raise Uncountable(f'found no controllers for pod "{pod.metadata.name}"')

    async def _scale_of_any(self, ref: OwnerReference, key: Key, resource: Resource | None) -> Scale | None:
        """Return the scale of an owner of another kind, also of a custom one; None if it does not exist."""
        if resource is None:
            raise Uncountable(f'no matches for kind "{ref.kind}" in version "{ref.api_version}"')
        if "scale" not in resource.subresources:
            raise Uncountable(f"{resource.group_resource} does not implement the scale subresource")
        try:
            return await self.client.get_scale(resource, key.name, key.namespace)
        except ApiError as error:
            if is_not_found(error):
                return None
            raise

    def _scale_of_set(self, held: ReplicaSet) -> tuple[str, int]:
        ref = controller_of(held)
        if ref is not None and resource_named(ref) is resource_of(Deployment):
            deployment = self._deployments.get(Key(held.metadata.namespace or "", ref.name))
            if deployment is not None and deployment.metadata.uid == ref.uid:
                return ref.uid, _replicas(deployment.spec.replicas)
        return held.metadata.uid or "", _replicas(held.spec.replicas)

    async def _write(self, budget: PodDisruptionBudget, status: PodDisruptionBudgetStatus) -> None:
        if status != budget.status:
            await self.write_status(structs.replace(budget, status=status))


def _replicas(replicas: int | None) -> int:
    return 1 if replicas is None else replicas


class StaleDisruptionController(Controller):
    """Takes ``DisruptionTarget`` off pods that were marked two minutes ago and are not being deleted."""

    name: ClassVar[str] = "stale-pod-disruption"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._pods = context.informers.informer(Pod)
        self._pods.add_handler(self._look, lambda old, new: self._look(new))

    def _look(self, pod: Pod) -> None:
        if rules.stale_since(pod) is not None:
            self.enqueue(pod)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        pod, now = self._pods.get(key), clock.now()
        if pod is None or pod.metadata.deletion_timestamp is not None or is_terminal(pod):
            return AwaitChange()
        since = rules.stale_since(pod)
        if since is None:
            return AwaitChange()
        left = (since + rules.DELETION_TIMEOUT - now) / timedelta(seconds=1)
        if left > 0:
            return RequeueAfter(left)
        over = PodCondition(
            type="DisruptionTarget", status="False", observed_generation=pod.metadata.generation
        )
        conditions = with_condition(pod.status.conditions, over, now)
        status = structs.replace(pod.status, conditions=conditions)
        await write_status(self.client, structs.replace(pod, status=status))
        return AwaitChange()

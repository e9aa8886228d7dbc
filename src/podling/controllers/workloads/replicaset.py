"""ReplicaSets: the desired number of pods.

Flow: claim the pods that match (adopt orphans, release strays), compare the active ones with
``spec.replicas``, create or delete the difference (500 at most in one run), write the status.
Creations start slowly, so that a template that cannot work fails once; deletions choose the pods whose
loss hurts least (``pod_state.removal_order``). Pods that ended are replaced at a limited rate
(``replacement_rate``).

Guarantees: the controller waits until the informer shows all of its own writes, so it never creates or
deletes too many.
Upstream: ``pkg/controller/replicaset``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar, Generic, TypeVar

from msgspec import Struct, structs

from podling import clock
from podling.api.apps_v1 import ReplicaSet, ReplicaSetCondition, ReplicaSetStatus
from podling.api.core_v1 import Pod, PodTemplateSpec
from podling.client.base import ApiObject, Key, key_of
from podling.client.informer import Informer
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import REST_OF_WORKLOADS_SECONDS, Controller, ControllerContext
from podling.controllers.children import BY_CONTROLLER, Children, child_selector, controller_index
from podling.controllers.owner_references import controller_of
from podling.controllers.pod_state import (
    is_active,
    is_available,
    is_terminating,
    removal_order,
    seconds_to_next_available,
)
from podling.controllers.refusals import is_namespace_terminating
from podling.controllers.status_writes import write_status
from podling.controllers.workloads.pod_census import Fact, PodCensus
from podling.controllers.workloads.pod_control import PodControl, pod_from_template, slow_start, together
from podling.controllers.workloads.replacement_rate import ReplacementRate
from podling.machinery.conditions import find, with_condition, without
from podling.machinery.histograms import Histogram, histograms
from podling.machinery.pods import is_ready, is_terminal
from podling.machinery.selectors import LabelSelector

O = TypeVar("O", bound=ApiObject)  # noqa: E741 owner

BURST_REPLICAS = 500
AGE_RATIOS = tuple(0.25 * 2.0**power for power in range(6))
FAILURE = "ReplicaFailure"


def desired(replica_set: ReplicaSet) -> int:
    return replica_set.spec.replicas if replica_set.spec.replicas is not None else 1


class Numbers(Struct, frozen=True):
    """A replica set's pods: ``replicas`` are the active ones, the next three are among them."""

    replicas: int
    labeled: int
    ready: int
    available: int
    terminating: int


def numbers_of(replica_set: ReplicaSet, pods: Sequence[Pod], now: datetime) -> Numbers:
    """Return the numbers of these pods."""
    spec = replica_set.spec
    active = [pod for pod in pods if is_active(pod)]
    wanted = template_labels(replica_set)
    return Numbers(
        replicas=len(active),
        labeled=sum(wanted.items() <= pod.metadata.labels.items() for pod in active),
        ready=sum(map(is_ready, active)),
        available=sum(is_available(pod, spec.min_ready_seconds or 0, now) for pod in active),
        terminating=sum(map(is_terminating, pods)),
    )


def template_labels(replica_set: ReplicaSet) -> dict[str, str]:
    return replica_set.spec.template.metadata.labels


def status_of(
    replica_set: ReplicaSet, numbers: Numbers, failure: Exception | None, now: datetime
) -> ReplicaSetStatus:
    """Return the status of a replica set with these pods, after an attempt that ended in ``failure``."""
    old = replica_set.status
    return structs.replace(
        old,
        replicas=numbers.replicas,
        fully_labeled_replicas=numbers.labeled,
        ready_replicas=numbers.ready,
        available_replicas=numbers.available,
        terminating_replicas=numbers.terminating,
        observed_generation=replica_set.metadata.generation,
        conditions=_conditions(old.conditions, numbers.replicas - desired(replica_set), failure, now),
    )


def _conditions(
    conditions: tuple[ReplicaSetCondition, ...], surplus: int, failure: Exception | None, now: datetime
) -> tuple[ReplicaSetCondition, ...]:
    if failure is None:
        return without(conditions, FAILURE)
    if find(conditions, FAILURE) is not None:
        return conditions
    reason = "FailedCreate" if surplus < 0 else "FailedDelete"
    condition = ReplicaSetCondition(type=FAILURE, status="True", reason=reason, message=str(failure))
    return with_condition(conditions, condition, now)


def deletion_age_ratios(ordered: Sequence[Pod], count: int, now: datetime) -> list[int]:
    """Return the ages of the ready ones of the first ``count`` pods, as multiples of the youngest one's.

    Multiples are whole numbers. Source: ``reportSortingDeletionAgeRatioMetric``.
    """
    ages = [_age_milliseconds(pod, now) for pod in ordered if is_ready(pod)]
    youngest = min(ages, default=0)
    if youngest <= 0:
        return []
    return [_age_milliseconds(pod, now) // youngest for pod in ordered[:count] if is_ready(pod)]


def _age_milliseconds(pod: Pod, now: datetime) -> int:
    created = pod.metadata.creation_timestamp
    return (now - created) // timedelta(milliseconds=1) if created is not None else 0


class ReplicaKeeper(Controller, Generic[O]):
    """The controller of replica sets and replication controllers; it treats both as replica sets.

    Args:
        owners: the informer of the kind that is kept.
        selector: the labels of an owner's pods.
        component: the name that events carry.
    """

    workers: ClassVar[int] = 5
    rest_seconds: ClassVar[float] = REST_OF_WORKLOADS_SECONDS

    def __init__(
        self,
        context: ControllerContext,
        owners: Informer[O],
        selector: Callable[[O], LabelSelector | None],
        component: str,
    ) -> None:
        super().__init__(context)
        self._owners = owners
        owners.add_handler(self.enqueue, self.enqueue_new, self._owner_gone)
        pods = context.informers.informer(Pod)
        self._children = Children(context.client, owners, pods, self.queue, selector)
        self._census = PodCensus(pods)
        self._control = PodControl(context.client, context.recorder(component))
        self._replacements = ReplacementRate()
        self._age_ratios = Histogram(AGE_RATIOS)

    def _owner_gone(self, owner: O) -> None:
        self._census.forget(owner.metadata.uid or "")
        self.enqueue(owner)

    @abstractmethod
    def as_replica_set(self, owner: O) -> ReplicaSet:
        """Return the owner as a replica set that says it is of the owner's own kind."""

    @abstractmethod
    async def write(self, owner: O, status: ReplicaSetStatus) -> None:
        """Write the status that a replica set in the owner's place would have."""

    @abstractmethod
    def related(self, owner: O) -> Iterable[O]:
        """Return the owners whose pods count as company when it is decided which pod to give up."""

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        owner = self._owners.get(key)
        if owner is None:
            return AwaitChange()
        replica_set = self.as_replica_set(owner)
        selector = child_selector(replica_set)
        if selector is None:
            return AwaitChange()
        settled, now = self._children.settled(key), clock.now()
        numbers = self._numbers_at_rest(replica_set, selector) if settled else None
        if numbers is not None:
            await self._write(owner, replica_set, status_of(replica_set, numbers, None, now))
            return AwaitChange()
        return await self._work(owner, replica_set, settled=settled)

    def _numbers_at_rest(self, replica_set: ReplicaSet, selector: LabelSelector) -> Numbers | None:
        """Return the numbers, if nothing is to be done but to write them: no pod to make, delete, adopt or
        release. This is how nearly every run ends, and it looks at no single pod."""
        spec, metadata = replica_set.spec, replica_set.metadata
        if spec.min_ready_seconds or metadata.deletion_timestamp is not None:
            return None
        if self._children.has_orphans(metadata.namespace or ""):
            return None
        count = self._census.of(metadata.uid or "", selector, template_labels(replica_set))
        if count[Fact.STRAY] or count[Fact.ACTIVE] != desired(replica_set):
            return None
        ready = count[Fact.READY]
        return Numbers(count[Fact.ACTIVE], count[Fact.LABELED], ready, ready, count[Fact.TERMINATING])

    async def _work(self, owner: O, replica_set: ReplicaSet, *, settled: bool) -> RequeueAfter | AwaitChange:
        """Claim pods, bring their number nearer to what is wanted, and write the status."""
        mine = await self._children.claim(owner)
        active = [pod for pod in mine if is_active(pod)]
        failure: Exception | None = None
        if settled and replica_set.metadata.deletion_timestamp is None:
            ended = sum(map(is_terminal, mine))
            failure = await self._manage(owner, replica_set, active, ended)
        now = clock.now()
        status = status_of(replica_set, numbers_of(replica_set, mine, now), failure, now)
        await self._write(owner, replica_set, status)
        if failure is not None:
            raise failure
        wait = seconds_to_next_available(active, replica_set.spec.min_ready_seconds or 0, now)
        return RequeueAfter(wait) if wait is not None else AwaitChange()

    async def _write(self, owner: O, replica_set: ReplicaSet, status: ReplicaSetStatus) -> None:
        if status != replica_set.status:
            await self.write(owner, status)

    async def _manage(
        self, owner: O, replica_set: ReplicaSet, active: list[Pod], ended: int
    ) -> Exception | None:
        """Create what is missing or delete what is too much; returns what went wrong."""
        surplus = len(active) - desired(replica_set)
        if surplus < 0:
            return await self._create(replica_set, min(-surplus, BURST_REPLICAS), ended)
        if surplus > 0:
            count = min(surplus, BURST_REPLICAS)
            if count < len(active):
                company = [pod for each in self.related(owner) for pod in self._children.owned(each)]
                active = removal_order(active, company, clock.now())
                for ratio in deletion_age_ratios(active, count, clock.now()):
                    self._age_ratios.observe(ratio)
            return await self._delete(replica_set, active[:count])
        return None

    async def _create(self, replica_set: ReplicaSet, count: int, ended: int) -> Exception | None:
        """Create pods; as many of them as have ended are taken for replacements, whose rate is limited."""
        template = replica_set.spec.template or PodTemplateSpec()
        pod, key = pod_from_template(template, replica_set), key_of(replica_set)

        async def create(number: int) -> None:
            if number < ended:
                await self._replacements.wait()
            self._children.wrote(key, await self._control.create(pod, replica_set))

        failure = await slow_start(count, create)
        return None if failure is not None and is_namespace_terminating(failure) else failure

    async def _delete(self, replica_set: ReplicaSet, pods: list[Pod]) -> Exception | None:
        async def delete(pod: Pod) -> None:
            if await self._control.delete(pod, replica_set):
                self._children.deleted(key_of(replica_set), pod)

        return await together([delete(pod) for pod in pods])


class ReplicaSetController(ReplicaKeeper[ReplicaSet]):
    name: ClassVar[str] = "replicaset-controller"

    def __init__(self, context: ControllerContext) -> None:
        sets = context.informers.informer(ReplicaSet)
        sets.add_indexer(BY_CONTROLLER, controller_index)
        super().__init__(context, sets, child_selector, "replicaset-controller")

    def families(self) -> Iterator[Any]:
        yield histograms(
            "replicaset_controller_sorting_deletion_age_ratio",
            "[ALPHA] The ratio of chosen deleted pod's ages to the current youngest pod's age (at the time). "
            "Should be <2. Only ready pods are considered.",
            (),
            {(): self._age_ratios},
        )

    def as_replica_set(self, owner: ReplicaSet) -> ReplicaSet:
        return owner

    def related(self, owner: ReplicaSet) -> Iterable[ReplicaSet]:
        """Return all replica sets of the same deployment: during a roll-out, old and new ones alike."""
        ref = controller_of(owner)
        return self._owners.by_index(BY_CONTROLLER, ref.uid) if ref is not None else (owner,)

    async def write(self, owner: ReplicaSet, status: ReplicaSetStatus) -> None:
        await write_status(self.client, structs.replace(owner, status=status))

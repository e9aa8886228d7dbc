"""``pods/eviction``: a deletion that the pod's disruption budget has to allow.

A budget is spent before the pod goes: the decrement is a compare-and-swap on the budget, so two evictions
can never spend the same one. ``verdict`` is the decision, pure; ``Evictions`` carries it out.

Upstream counterpart: ``pkg/registry/core/pod/storage/eviction.go``.
"""

from __future__ import annotations

from datetime import datetime
from enum import Enum

from msgspec import Struct, structs
from msgspec.structs import replace

from podling import clock, ids
from podling.api.core_v1 import Pod, PodCondition
from podling.api.meta_v1 import Condition, DeleteOptions, Preconditions, Status, StatusCause, StatusDetails
from podling.api.policy_v1 import Eviction, PodDisruptionBudget, PodDisruptionBudgetStatus
from podling.apiserver.registry.deletion import check_preconditions
from podling.apiserver.registry.internal_reads import StoredObjects
from podling.apiserver.registry.registry import Registry
from podling.apiserver.registry.write_stages import WriteRequest
from podling.client.requests import SYSTEM, Target, User, WriteOptions
from podling.machinery import errors, fields, selectors
from podling.machinery.conditions import with_condition
from podling.machinery.fields import Path
from podling.machinery.pods import is_ready
from podling.machinery.scheme import resource_of

MAX_DISRUPTED_PODS = 2000
RETRIES = 20
RETRY_SECONDS = 0.5
RETRY_JITTER = 0.1
RETRY_AFTER_SECONDS = 10
ALLOWED = "DisruptionAllowed"
UNSAFE = "ignoreStoreReadErrorWithClusterBreakingPotential"
TOO_MANY_BUDGETS = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
)


class Way(Enum):
    """Outcome of an eviction request."""

    FREE = "the budget has no say"
    SPEND = "the budget must be spent"
    UNHEALTHY = "the pod does not count as healthy, so its going costs nothing"


class Verdict(Struct, frozen=True):
    way: Way
    budget: PodDisruptionBudget | None = None
    """The budget afterwards, when it is to be spent."""


def ignores_budget(pod: Pod) -> bool:
    """Pods that are over, not begun, or going anyway need no budget."""
    return pod.status.phase == "Pending" or _is_going(pod)


def _is_going(pod: Pod) -> bool:
    return pod.status.phase in ("Succeeded", "Failed") or pod.metadata.deletion_timestamp is not None


def verdict(pod: Pod, budget: PodDisruptionBudget, now: datetime) -> Verdict:
    """Return whether ``pod`` may go, and what it costs. Raises 403 or 429."""
    status = budget.status
    if not is_ready(pod):
        policy = budget.spec.unhealthy_pod_eviction_policy
        healthy, desired = status.current_healthy or 0, status.desired_healthy or 0
        if policy == "AlwaysAllow" or (healthy >= desired and desired > 0):
            return Verdict(Way.UNHEALTHY)
    return Verdict(Way.SPEND, _spent(budget, pod.metadata.name or "", now))


def _spent(budget: PodDisruptionBudget, pod: str, now: datetime) -> PodDisruptionBudget:
    status, name = budget.status, budget.metadata.name or ""
    if (status.observed_generation or 0) < (budget.metadata.generation or 0):
        cause = f"The disruption budget {name} is still being processed by the server."
        raise _not_now(cause, RETRY_AFTER_SECONDS)
    allowed = status.disruptions_allowed or 0
    if allowed < 0:
        raise errors.forbidden("poddisruptionbudget", "policy", name, "pdb disruptions allowed is negative")
    if len(status.disrupted_pods) > MAX_DISRUPTED_PODS:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise errors.forbidden("poddisruptionbudget", "policy", name, why)
    if allowed == 0:
        raise _not_now(f"The disruption budget {name} {_why_none(status)}")
    changed = structs.replace(
        status,
        disruptions_allowed=allowed - 1,
        disrupted_pods={**status.disrupted_pods, pod: clock.seconds_precision(now)},
        conditions=status.conditions if allowed > 1 else _none_left(status, now),
    )
    return structs.replace(budget, status=changed)


def _why_none(status: PodDisruptionBudgetStatus) -> str:
    """Why a budget allows nothing: its numbers say it, unless they could not be computed."""
    said = next((each for each in status.conditions if each.type == ALLOWED), None)
    refused = said is not None and said.status == "False" and bool(said.message)
    refusal = "does not allow evicting pods currently"
    if said is not None and refused and said.reason == "SyncFailed":
        return f"{refusal} because it failed sync: {said.message}"
    desired, healthy = status.desired_healthy or 0, status.current_healthy or 0
    if healthy <= desired:
        return f"needs {desired} healthy pods and has {healthy} currently"
    return f"{refusal} ({said.reason}): {said.message}" if said is not None and refused else refusal


def _none_left(status: PodDisruptionBudgetStatus, now: datetime) -> tuple[Condition, ...]:
    """The budget's conditions once its last disruption is spent."""
    fresh = Condition(
        type=ALLOWED,
        status="False",
        reason="InsufficientPods",
        message="",
        observed_generation=status.observed_generation,
    )
    return with_condition(status.conditions, fresh, now)


def _not_now(cause: str, retry_after: int = 0) -> errors.ApiError:
    """429: the budget is spent, or not known yet."""
    details = StatusDetails(
        causes=(StatusCause(reason="DisruptionBudget", message=cause),), retry_after_seconds=retry_after
    )
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    return errors.failure(429, "TooManyRequests", message, details)


class Evictions:
    """Carries evictions out."""

    def __init__(self, registry: Registry, objects: StoredObjects) -> None:
        self._registry = registry
        self._objects = objects

    async def evict(self, target: Target, user: User, body: Eviction, options: WriteOptions) -> Status:
        """``POST pods/{name}/eviction``."""
        if body.metadata.name != target.name:
            raise errors.bad_request("name in URL does not match name in Eviction object")
        asked = body.delete_options or DeleteOptions()
        if asked.ignore_store_read_error_with_cluster_breaking_potential:
            why = "can not be set for pod eviction, try after removing the option"
            found = fields.invalid(Path("deleteOptions").child(UNSAFE), True, why)
            raise errors.invalid("Eviction", "policy", target.name, [found])
        if asked.dry_run and options.dry_run and "All" not in asked.dry_run:
            raise errors.bad_request("dryRun in the request body and in the query do not match")
        dry_run = options.dry_run or "All" in asked.dry_run
        asked = structs.replace(asked, dry_run=("All",) if dry_run else ())
        target = replace(target, subresource="")
        for _ in range(RETRIES):
            try:
                return await self._try(target, user, asked, dry_run=dry_run)
            except errors.ApiError as error:
                if not errors.is_conflict(error) or self._is_final(target, asked):
                    raise
            jitter = RETRY_SECONDS * RETRY_JITTER
            await clock.machine_sleep(ids.uniform(RETRY_SECONDS - jitter, RETRY_SECONDS + jitter))
        text = "couldn't update PodDisruptionBudget due to conflicts"
        raise errors.gateway_timeout(text, RETRY_AFTER_SECONDS)

    async def _try(self, target: Target, user: User, asked: DeleteOptions, *, dry_run: bool) -> Status:
        pod = self._objects.get(Pod, target.name, target.namespace)
        if pod is None:
            raise errors.not_found("pods", "", target.name)
        free = ignores_budget(pod)
        budgets = [] if free else await self._budgets(pod)
        if len(budgets) > 1:
            raise errors.failure(500, "", TOO_MANY_BUDGETS)
        found = verdict(pod, budgets[0], clock.now()) if budgets else Verdict(Way.FREE)
        if found.way is Way.UNHEALTHY or (free and not _is_going(pod)):
            asked = _pinned(asked, pod)
        elif found.budget is not None and not dry_run:
            await self._spend(found.budget)
        if not dry_run:
            asked = await self._mark(target, asked)
        await self._registry.writes.remove(target, user, asked, reviewed=True)
        return Status(status="Success", code=201)

    def _is_final(self, target: Target, asked: DeleteOptions) -> bool:
        """Return whether a retry cannot help: the caller named a revision, or another pod."""
        wanted, pod = asked.preconditions, self._objects.get(Pod, target.name, target.namespace)
        if wanted is None:
            return False
        return bool(wanted.resource_version) or bool(
            wanted.uid and pod is not None and pod.metadata.uid != wanted.uid
        )

    async def _budgets(self, pod: Pod) -> list[PodDisruptionBudget]:
        found = await self._objects.list(PodDisruptionBudget, pod.metadata.namespace or "")
        return [
            budget
            for budget in found
            if budget.spec.selector is not None
            and selectors.from_label_selector(budget.spec.selector).matches(pod.metadata.labels)
        ]

    async def _spend(self, budget: PodDisruptionBudget) -> None:
        """Write the decremented budget; a conflict means that another eviction has written it first."""
        resource = resource_of(PodDisruptionBudget)
        metadata = budget.metadata
        target = Target(resource, metadata.namespace or "", metadata.name or "", "status")
        await self._registry.update(target, SYSTEM, budget, WriteOptions())

    async def _mark(self, target: Target, asked: DeleteOptions) -> DeleteOptions:
        """Say on the pod why it goes; preconditions on its revision move along with that write."""
        rules = self._registry.rules_for(target.resource)
        write = WriteRequest(target, SYSTEM, WriteOptions(), rules)
        now = clock.now()

        def change(old: Pod) -> Pod:
            check_preconditions(target.resource, old.metadata, asked)
            return _with_target_condition(old, now)

        marked = await self._registry.writes.act(write, change)
        if asked.preconditions is None or not asked.preconditions.resource_version:
            return asked
        moved = structs.replace(asked.preconditions, resource_version=marked.metadata.resource_version)
        return structs.replace(asked, preconditions=moved)


def _pinned(asked: DeleteOptions, pod: Pod) -> DeleteOptions:
    """The deletion of the pod as it was judged: it may become one that its budget protects at any time."""
    wanted = asked.preconditions or Preconditions()
    if wanted.resource_version:
        return asked
    pinned = structs.replace(wanted, resource_version=pod.metadata.resource_version)
    return structs.replace(asked, preconditions=pinned)


def _with_target_condition(pod: Pod, now: datetime) -> Pod:
    fresh = PodCondition(
        type="DisruptionTarget",
        status="True",
        reason="EvictionByEvictionAPI",
        message="Eviction API: evicting",
        observed_generation=pod.metadata.generation,
    )
    conditions = with_condition(pod.status.conditions, fresh, now)
    return structs.replace(pod, status=structs.replace(pod.status, conditions=conditions))

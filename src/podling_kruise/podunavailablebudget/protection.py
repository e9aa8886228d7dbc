"""The protection of a pod by its budget: what an operation costs, and the budget after that. Pure.

A pod that is not available anyway costs nothing, and neither does one that the budget was spent for already.
Upstream: ``pkg/control/pubcontrol``.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import structs

from podling.api.core_v1 import Pod
from podling.clock import seconds_precision
from podling.controllers.pod_state import is_active
from podling.machinery import errors
from podling.machinery.pods import is_ready
from podling.machinery.selectors import readable_selector
from podling_kruise.inplace.completion import unfinished
from podling_kruise.inplace.update_state import UnreadableRecord
from podling_kruise.names import (
    DEPRECATED_RELATED_BUDGET,
    NO_PROTECTION,
    POLICY_GROUP,
    PROTECT_OPERATIONS,
    RELATED_BUDGET,
    UNAVAILABLE_PREFIX,
)
from podling_kruise.podunavailablebudget.types import (
    DEFAULT_OPERATIONS,
    RESIZE,
    UPDATE,
    PodUnavailableBudget,
)
from podling_kruise.sidecarset.annotations import injected_names
from podling_kruise.sidecarset.pod_state import is_update_complete
from podling_kruise.sidecarset.sharing import is_injected

RECORDS_MAX = 2000
TRUE = ("1", "t", "T", "TRUE", "true", "True")
"""Texts that Go reads as true."""
SPENT = "pub unavailable allowed is negative"
TOO_MANY = (
    "DisruptedPods and UnavailablePods map too big - too many unavailable not confirmed by PUB controller"
)


def budget_name(pod: Pod) -> str:
    """Return the name of the pod's budget; empty if it has none."""
    annotations = pod.metadata.annotations
    return annotations.get(RELATED_BUDGET) or annotations.get(DEPRECATED_RELATED_BUDGET, "")


def has_unavailable_label(pod: Pod) -> bool:
    return any(key.startswith(UNAVAILABLE_PREFIX) for key in pod.metadata.labels)


def is_available(pod: Pod) -> bool:
    """Return whether the pod counts as available: it runs, is ready, and is what its spec says."""
    ready = pod.status.phase == "Running" and is_ready(pod) and not has_unavailable_label(pod)
    return ready and is_active(pod) and is_consistent(pod)


def is_consistent(pod: Pod) -> bool:
    """Return whether the last update in place is complete. An unreadable record counts as incomplete."""
    digests = {each.name: _digest(each.image or "") for each in pod.spec.containers}
    shown = {each.name: _digest(each.image_id) for each in pod.status.container_statuses}
    for name, wanted in digests.items():
        if wanted and shown.get(name) not in ("", wanted):
            return False
    if all(digests.values()):
        return True
    sidecars = {each.name for each in pod.spec.containers if is_injected(each)}
    if sidecars and not all(is_update_complete(name, pod, sidecars) for name in injected_names(pod)):
        return False
    try:
        return not unfinished(pod)
    except UnreadableRecord:
        return False


def _digest(image: str) -> str:
    """Return the digest in the name or the ID of an image; empty without one."""
    return image.partition("@")[2]


def is_exempt(pod: Pod) -> bool:
    """Return whether no operation on the pod can cost its budget anything."""
    return pod.metadata.annotations.get(NO_PROTECTION, "") in TRUE or not is_available(pod)


def costs(pod: Pod, budget: PodUnavailableBudget, operation: str) -> bool:
    """Return whether an operation on a pod that is not exempt has to be paid from its budget."""
    selector = budget.spec.ignored_pod_selector
    ignored = readable_selector(selector) if selector is not None else None
    if ignored is not None and not ignored.empty and ignored.matches(pod.metadata.labels):
        return False
    if not budget.status.desired_available or operation not in protected_operations(budget):
        return False
    name, status = pod.metadata.name or "", budget.status
    return name not in status.disrupted_pods and name not in status.unavailable_pods


def protected_operations(budget: PodUnavailableBudget) -> tuple[str, ...]:
    """Return the operations that the budget protects from; the annotation counts without the field."""
    if budget.spec.protect_operations:
        return budget.spec.protect_operations
    text = budget.metadata.annotations.get(PROTECT_OPERATIONS, "")
    return tuple(each for each in text.split(",") if each) or DEFAULT_OPERATIONS


def spent(budget: PodUnavailableBudget, pod: Pod, operation: str, now: datetime) -> PodUnavailableBudget:
    """Return the budget after an operation on a pod. Raises 403 if nothing is left."""
    status, name = budget.status, pod.metadata.name or ""
    if status.unavailable_allowed <= 0:
        raise _refusal(budget, SPENT)
    if len(status.disrupted_pods) + len(status.unavailable_pods) > RECORDS_MAX:
        raise _refusal(budget, TOO_MANY)
    field = "unavailable_pods" if operation in (UPDATE, RESIZE) else "disrupted_pods"
    records = {**getattr(status, field), name: seconds_precision(now)}
    changed = structs.replace(status, unavailable_allowed=status.unavailable_allowed - 1, **{field: records})
    return structs.replace(budget, status=changed)


def _refusal(budget: PodUnavailableBudget, why: str) -> errors.ApiError:
    return errors.forbidden("podunavailablebudget", POLICY_GROUP, budget.metadata.name or "", why)

"""The usage of an object against ResourceQuotas, and the quotas that it concerns.

Admission computes it for a new object, a controller for all objects of a quota's status; both must
agree. A resource is counted under every name that a quota may use for it: a pod's cpu
request is ``cpu`` and ``requests.cpu``, its cpu limit ``limits.cpu``.

Upstream: ``pkg/quota/v1/evaluator/core``, ``staging/src/k8s.io/apiserver/pkg/quota/v1``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from podling.api.core_v1 import (
    PersistentVolumeClaim,
    Pod,
    PodAffinityTerm,
    ResourceQuotaSpec,
    ScopedResourceSelectorRequirement,
    Service,
)
from podling.api.resource_v1 import ResourceClaim
from podling.machinery.moments import shifted
from podling.machinery.pods import (
    BEST_EFFORT,
    Resources,
    has_pod_level_resources,
    is_terminal,
    pod_limits,
    pod_requests,
    qos_class_of,
)
from podling.machinery.quantity import ZERO, Quantity, of, parse
from podling.machinery.resized_pods import effective_spec
from podling.machinery.storage_classes import attributes_classes_of, class_of

NATIVE = ("cpu", "memory", "ephemeral-storage")
REQUIRED_OF_PODS = frozenset({
    "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory",
})  # fmt: skip
"""Resources that every container must state once a quota limits them."""

COUNTED_BY_NAME = ("configmaps", "secrets", "replicationcontrollers", "resourcequotas")
"""Core kinds that quotas also count by their bare plural."""

DEVICES = ".deviceclass.resource.k8s.io/devices"
"""End of the names under which the devices of one class count."""

DEVICES_MAX = 32
"""Most devices that one claim can have: a request for all devices counts as this many."""

ONE = of(1)


def usage(obj: Any, plural: str, group: str, now: datetime) -> Resources:
    """Everything that ``obj`` counts for. A pod that has ended counts only as an object; events never do."""
    if plural == "events":
        return {}
    found: Resources = {f"count/{plural}.{group}" if group else f"count/{plural}": ONE}
    if group:
        return found | _device_usage(obj) if isinstance(obj, ResourceClaim) else found
    if plural in COUNTED_BY_NAME:
        found[plural] = ONE
    elif isinstance(obj, Pod):
        if not _has_ended(obj, now):
            found.update(_pod_usage(obj))
    elif isinstance(obj, Service):
        found.update(_service_usage(obj))
    elif isinstance(obj, PersistentVolumeClaim):
        found.update(_claim_usage(obj))
    return found


def _has_ended(pod: Pod, now: datetime) -> bool:
    """Also a pod whose grace period is over: its node may be gone, but its share is free again."""
    if is_terminal(pod):
        return True
    deleted, grace = pod.metadata.deletion_timestamp, pod.metadata.deletion_grace_period_seconds
    return deleted is not None and grace is not None and now > shifted(deleted, grace)


def _pod_usage(pod: Pod) -> Resources:
    found: Resources = {"pods": ONE}
    spec = effective_spec(pod)
    for name, amount in pod_requests(spec).items():
        if name in NATIVE or name.startswith("hugepages-"):
            found[name] = amount
        found[f"requests.{name}"] = amount
    for name, amount in pod_limits(spec).items():
        if name in NATIVE:
            found[f"limits.{name}"] = amount
    return found


def _service_usage(service: Service) -> Resources:
    spec = service.spec
    found: Resources = {"services": ONE}
    if spec.type in ("NodePort", "LoadBalancer"):
        chosen = spec.type == "LoadBalancer" and spec.allocate_load_balancer_node_ports is False
        ports = [port for port in spec.ports if port.node_port or not chosen]
        found["services.nodeports"] = of(len(ports))
    if spec.type == "LoadBalancer":
        found["services.loadbalancers"] = ONE
    return found


def _claim_usage(claim: PersistentVolumeClaim) -> Resources:
    found: Resources = {"persistentvolumeclaims": ONE}
    requested = claim.spec.resources.requests.get("storage")
    if requested is not None:
        allocated = parse(claim.status.allocated_resources.get("storage", "0"))
        most = max(parse(requested), allocated)
        # Without parts of a byte: a quota would not hold them.
        found["requests.storage"] = of(most.value, most.format)
    if class_of(claim):
        own = f"{class_of(claim)}.storageclass.storage.k8s.io"
        found |= {f"{own}/{name}": amount for name, amount in found.items()}
    return found


def _device_usage(claim: ResourceClaim) -> Resources:
    """Return the devices by their class; of alternatives the most that may be allocated of each class."""
    found: Resources = {}
    for request in claim.spec.devices.requests:
        most: dict[str, int] = {}
        exactly = (request.exactly,) if request.exactly is not None else ()
        for each in request.first_available or exactly:
            count = {"ExactCount": each.count, "All": DEVICES_MAX}.get(each.allocation_mode, 0)
            most[each.device_class_name] = max(count, most.get(each.device_class_name, 0))
        for name, count in most.items():
            found[name + DEVICES] = found.get(name + DEVICES, ZERO) + of(count)
    return found


def in_scope(spec: ResourceQuotaSpec, obj: Any) -> bool:
    """Return whether a quota concerns ``obj``. Scopes concern pods and claims only."""
    return all(matches_scope(requirement, obj) for requirement in scopes_of(spec))


def scopes_of(spec: ResourceQuotaSpec) -> list[ScopedResourceSelectorRequirement]:
    """Return all that a quota requires of its objects."""
    requirements = [ScopedResourceSelectorRequirement(scope_name=s, operator="Exists") for s in spec.scopes]
    if spec.scope_selector is not None:
        requirements += spec.scope_selector.match_expressions
    return requirements


def matches_scope(requirement: ScopedResourceSelectorRequirement, obj: Any) -> bool:
    """Return whether ``obj`` is in the scope; only pods and claims can be."""
    if isinstance(obj, Pod):
        return _matches(requirement, obj)
    return isinstance(obj, PersistentVolumeClaim) and _matches_claim(requirement, obj)


def _matches_claim(requirement: ScopedResourceSelectorRequirement, claim: PersistentVolumeClaim) -> bool:
    if requirement.scope_name != "VolumeAttributesClass":
        return False
    return any(_selects(requirement, name) for name in attributes_classes_of(claim) or {""})


def _matches(requirement: ScopedResourceSelectorRequirement, pod: Pod) -> bool:
    scope = requirement.scope_name
    if scope in ("Terminating", "NotTerminating"):
        ends = pod.spec.active_deadline_seconds is not None
        return ends == (scope == "Terminating")
    if scope in ("BestEffort", "NotBestEffort"):
        best_effort = qos_class_of(pod) == BEST_EFFORT
        return best_effort == (scope == "BestEffort")
    if scope == "PriorityClass":
        return _selects(requirement, pod.spec.priority_class_name or "")
    if scope == "CrossNamespacePodAffinity":
        return any(term.namespaces or term.namespace_selector is not None for term in _affinity_terms(pod))
    return False


def _selects(requirement: ScopedResourceSelectorRequirement, value: str) -> bool:
    if requirement.operator in ("In", "NotIn"):
        return (value in requirement.values) == (requirement.operator == "In")
    return bool(value) == (requirement.operator == "Exists")


def _affinity_terms(pod: Pod) -> Iterable[PodAffinityTerm]:
    affinity = pod.spec.affinity
    if affinity is None:
        return
    for side in (affinity.pod_affinity, affinity.pod_anti_affinity):
        if side is not None:
            yield from side.required_during_scheduling_ignored_during_execution
            for weighted in side.preferred_during_scheduling_ignored_during_execution:
                yield weighted.pod_affinity_term


def unspecified(pod: Pod, hard: Iterable[str]) -> dict[str, list[str]]:
    """Limited resources that containers say nothing about: the containers' names by resource."""
    if has_pod_level_resources(pod.spec):
        return {}
    missing: dict[str, list[str]] = {}
    for name in sorted(REQUIRED_OF_PODS & set(hard)):
        side, _, resource = name.rpartition(".")
        for container in (*pod.spec.containers, *pod.spec.init_containers):
            own = container.resources.limits if side == "limits" else container.resources.requests
            if resource not in own:
                missing.setdefault(name, []).append(container.name)
    return missing


def total(each: Iterable[Resources], names: Iterable[str]) -> Resources:
    """Return the sum of several usages, for these names only."""
    found: Resources = dict.fromkeys(names, ZERO)
    for one in each:
        for name in found:
            if name in one:
                found[name] = found[name] + one[name]
    return found


def exceeded(hard: Mapping[str, Quantity], used: Resources, more: Resources) -> list[str]:
    """Return the names of the limits that ``more`` would exceed; zero never exceeds one."""
    return sorted(
        name
        for name, limit in hard.items()
        if more.get(name, ZERO) > ZERO and used.get(name, ZERO) + more[name] > limit
    )

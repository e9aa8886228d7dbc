"""In-place resize: the resources granted to a pod, and the updates that its containers need. Pure.

There are three sets of resources. The *spec* holds the desired ones. The *allocation* holds those that the
node has granted; all code except the API's reply about the spec uses it. The *actual* ones are enforced by
the running containers' cgroups. A change of the spec is granted, deferred (the node would not admit the pod
with it now) or infeasible; granted resources are then applied to the containers
(``pkg/kubelet/allocation``, ``kuberuntime_manager.go`` doPodResizeAction).

The allocation needs no file of its own: after a restart it is read from the pod's status. So a grant takes
effect once the status in the API shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec import Struct, structs

from podling.api.core_v1 import Container, Node, Pod, PodSpec, ResourceRequirements
from podling.kubelet.config import KubeletConfig
from podling.kubelet.observation import PodObservation
from podling.kubelet.pods.admission import refusal_text
from podling.kubelet.resources import container_resources
from podling.kubelet.status import conditions as rules
from podling.kubelet.status.pod_sizes import own_resources
from podling.kubelet.status.status import Verdict
from podling.kubelet.swap import LIMITED_SWAP, NodeMemory, swap_behavior
from podling.kubelet.topology import cpu_rules, memory_rules
from podling.machinery.conditions import is_true
from podling.machinery.pods import GUARANTEED, is_static, pod_requests, qos_class_of, regular_and_init
from podling.machinery.quantity import Quantity, parse
from podling.runtime.base import Container as Observed
from podling.runtime.base import ContainerState, LinuxResources

Allocation = Mapping[str, ResourceRequirements]
"""The resources granted to each container, by name, and to the pod as a whole under ``POD``."""

POD = ""
"""The key of the pod's own resources: no container has an empty name."""

DEFERRED = "Deferred"
INFEASIBLE = "Infeasible"

POD_UPDATED, POD_RESIZED = "pod_updated", "pod_resized"
PODS_ADDED, PODS_REMOVED = "pods_added", "pods_removed"
PERIODIC = "periodic_retry"
"""Causes of another try of a deferred resize: its own pod's change, another one's, or the time."""


def desired_resources(spec: PodSpec) -> Allocation:
    """Return the resources of the spec."""
    own = {POD: spec.resources} if spec.resources is not None else {}
    return {**own, **{c.name: c.resources for c in (*spec.init_containers, *spec.containers)}}


def with_allocation(pod: Pod, allocation: Allocation) -> Pod:
    """Return the pod with the resources of ``allocation``."""
    if desired_resources(pod.spec) == allocation:
        return pod
    spec = structs.replace(
        pod.spec,
        containers=tuple(_granted(c, allocation) for c in pod.spec.containers),
        init_containers=tuple(_granted(c, allocation) for c in pod.spec.init_containers),
        resources=allocation.get(POD),
    )
    return structs.replace(pod, spec=spec)


def _granted(container: Container, allocation: Allocation) -> Container:
    granted = allocation.get(container.name)
    return container if granted is None else structs.replace(container, resources=granted)


def allocation_from_status(pod: Pod) -> Allocation:
    """Return the allocation that an earlier kubelet granted, according to the pod's status.

    The status shows requests as granted, but limits as they are: those of a resize in progress may differ.
    """
    desired, status = desired_resources(pod.spec), pod.status
    in_progress = is_true(status.conditions, rules.POD_RESIZE_IN_PROGRESS)
    shown = {
        each.name: (each.allocated_resources, each.resources)
        for each in (*status.init_container_statuses, *status.container_statuses)
    }
    if pod.spec.resources is not None and status.resources is not None:
        whole = own_resources(pod.spec, status.allocated_resources, status.resources)
        shown[POD] = (whole.requests, whole)
    reported = {}
    for name, (requests, actual) in shown.items():
        if actual is None:
            continue
        limits: Mapping[str, str] = actual.limits
        if in_progress:
            limits = _granted_limits(requests, limits, desired.get(name), qos_class_of(pod))
        reported[name] = ResourceRequirements(requests=requests, limits=dict(limits), claims=actual.claims)
    return {**desired, **reported}


def _granted_limits(
    requests: Mapping[str, str], actual: Mapping[str, str], wanted: ResourceRequirements | None, qos: str
) -> Mapping[str, str]:
    """Return the limits that were granted together with ``requests``, as far as they are known."""
    if wanted is not None and requests == wanted.requests:
        return wanted.limits
    if qos == GUARANTEED:
        return requests
    return {
        name: requests[name] if name in requests and parse(requests[name]) > parse(limit) else limit
        for name, limit in actual.items()
    }


class Pending(Struct, frozen=True):
    """A resize that is not granted: ``Deferred`` or ``Infeasible``, and why."""

    reason: str
    message: str
    detail: str = ""
    """Why it is infeasible, for metrics."""


def resize_refusal(
    pod: Pod, allocation: Allocation, node: Node, config: KubeletConfig, admission: Verdict | None
) -> Pending | None:
    """Return None if the node grants the resources of the spec, else the reason.

    ``admission`` is the reason for which the node would not admit the pod with these resources, if any.
    """
    if is_static(pod):
        return Pending(INFEASIBLE, "In-place resize of static-pods is not supported", "static_pod")
    impossible = _swap_problem(pod, allocation, config) or _static_problem(pod, allocation, config)
    if impossible is not None:
        return impossible
    requests, zero = pod_requests(pod.spec), parse("0")
    for name in ("memory", "cpu"):
        amount = requests.get(name, zero)
        capacity = parse(node.status.allocatable[name]) if name in node.status.allocatable else zero
        if amount > capacity:
            numbers = [each.milli_value if name == "cpu" else each.value for each in (amount, capacity)]
            text = f"{name}, requested: {numbers[0]}, capacity: {numbers[1]}"
            text = f"Node didn't have enough capacity: {text}"
            return Pending(INFEASIBLE, text, "insufficient_node_allocatable")
    return Pending(DEFERRED, refusal_text(admission)) if admission is not None else None


def _swap_problem(pod: Pod, allocation: Allocation, config: KubeletConfig) -> Pending | None:
    """Return why swap forbids the resize: its limit is computed from the memory request."""
    before = with_allocation(pod, allocation)
    old = {container.name: container for container in regular_and_init(before.spec)}
    for container in regular_and_init(pod.spec):
        known = old[container.name]
        if _request(container, "memory") == _request(known, "memory") or _needs_restart(known, ("memory",)):
            continue
        if LIMITED_SWAP in (swap_behavior(pod, container, config), swap_behavior(before, known, config)):
            text = "In-place resize of containers with swap is not supported."
            return Pending(INFEASIBLE, text, "swap_limitation")
    return None


def _static_problem(pod: Pod, allocation: Allocation, config: KubeletConfig) -> Pending | None:
    """Return why CPUs or memory of its own forbid a pod's resize: they do not change while it runs."""
    if qos_class_of(pod) != GUARANTEED:
        return None
    managers = (
        ("cpu", "CPU Manager", config.cpu_manager_policy, cpu_rules.STATIC),
        ("memory", "Memory Manager", config.memory_manager_policy, memory_rules.STATIC),
    )
    before = with_allocation(pod, allocation).spec
    for name, manager, policy, static in managers:
        new, old = ([_request(c, name) for c in regular_and_init(spec)] for spec in (pod.spec, before))
        if policy == static and new != old:
            text = f'Resize is infeasible for Guaranteed Pods alongside {manager} policy "{static}"'
            return Pending(INFEASIBLE, text, f"guaranteed_pod_{name}_manager_static_policy")
    return None


def resize_operations(before: Allocation, after: Allocation) -> list[tuple[str, str, str]]:
    """Return the changes of a spec by amount: operation, requirement and resource."""
    found = []
    for name in sorted(before.keys() & after.keys() - {POD}):
        for requirement in ("requests", "limits"):
            for resource in ("cpu", "memory"):
                old, new = (getattr(each[name], requirement).get(resource) for each in (before, after))
                operation = _operation(old, new)
                if operation:
                    found.append((operation, requirement, resource))
    return found


def _operation(old: str | None, new: str | None) -> str:
    if old is None or new is None:
        return "" if old == new else "add" if old is None else "remove"
    amounts = parse(old), parse(new)
    if amounts[0] == amounts[1]:
        return ""
    return "increase" if amounts[1] > amounts[0] else "decrease"


def _request(container: Container, name: str) -> Quantity:
    return parse(container.resources.requests.get(name, "0"))


class Update(Struct, frozen=True):
    """New limits of one resource for one running container."""

    name: str
    container_id: str
    resource: str
    resources: LinuxResources
    grows: bool
    """True if the limit does not shrink. Updates that shrink go first and free resources."""
    memory_limit: int | None = None
    """The new memory limit, if it is smaller than the one before."""


class ResizePlan(Struct, frozen=True):
    """``restart``: containers that must restart to change; ``updates``: the other changes in order."""

    restart: tuple[str, ...] = ()
    updates: tuple[Update, ...] = ()
    shrink_by_restart: frozenset[str] = frozenset()
    """The resources of which a container gives some back when it restarts, and the pod no earlier."""

    @property
    def done(self) -> bool:
        return not self.restart and not self.updates


RESOURCES = ("memory", "cpu")
"""The resources that a resize changes, in the order in which it changes them (``doPodResizeAction``)."""

UNLIMITED = -1
"""The value that takes a limit away; None would leave it."""


def plan_resize(pod: Pod, observed: PodObservation, config: KubeletConfig, node: NodeMemory) -> ResizePlan:
    """Return the steps that give the running containers the resources of ``pod`` (as granted)."""
    restart: list[str] = []
    updates: list[Update] = []
    shrunk: set[str] = set()
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        found = observed.newest(container.name)
        if found is None or found.state is not ContainerState.RUNNING or found.resources is None:
            continue
        target = container_resources(pod, container, config, node)
        changed = changed_resources(found.resources, target)
        own = [_update(found, found.resources, target, resource) for resource in changed]
        if changed and _needs_restart(container, changed):
            restart.append(container.name)
            shrunk.update(update.resource for update in own if not update.grows)
        else:
            updates += own
    updates.sort(key=lambda update: (RESOURCES.index(update.resource), update.grows))
    return ResizePlan(tuple(restart), tuple(updates), frozenset(shrunk))


def changed_resources(current: LinuxResources, target: LinuxResources) -> tuple[str, ...]:
    """Return which of cpu and memory differ."""
    changed = []
    if (current.cpu_shares, _limit(current.cpu_quota)) != (target.cpu_shares, _limit(target.cpu_quota)):
        changed.append("cpu")
    if _limit(current.memory_limit) != _limit(target.memory_limit):
        changed.append("memory")
    return tuple(changed)


def _limit(value: int | None) -> int | None:
    """Return a limit in force; None if there is none."""
    return None if value is None or value < 0 else value


def _needs_restart(container: Container, changed: Iterable[str]) -> bool:
    policies = {policy.resource_name: policy.restart_policy for policy in container.resize_policy}
    return any(policies.get(name) == "RestartContainer" for name in changed)


def _update(found: Observed, current: LinuxResources, target: LinuxResources, resource: str) -> Update:
    limits = part_of(target, resource)
    if resource == "cpu":
        grows = not _shrinks(target.cpu_quota, _limit(current.cpu_quota))
        return Update(found.name, found.id, resource, limits, grows)
    grows = not _shrinks(target.memory_limit, _limit(current.memory_limit))
    if target.memory_swap_limit is None and current.memory_swap_limit is not None:
        limits = structs.replace(limits, memory_swap_limit=UNLIMITED)
    return Update(
        found.name, found.id, resource, limits, grows, memory_limit=None if grows else target.memory_limit
    )


def part_of(target: LinuxResources, resource: str) -> LinuxResources:
    """Return the limits of one resource alone; one that ``target`` does not have is taken away."""
    if resource == "cpu":
        quota = UNLIMITED if target.cpu_quota is None else target.cpu_quota
        return LinuxResources(cpu_shares=target.cpu_shares, cpu_quota=quota, cpu_period=target.cpu_period)
    limit = UNLIMITED if target.memory_limit is None else target.memory_limit
    return LinuxResources(memory_limit=limit, memory_swap_limit=target.memory_swap_limit)


def _shrinks(new: int | None, old: int | None) -> bool:
    """Return whether a limit shrinks; no limit is the largest."""
    return new is not None and (old is None or new < old)


def retry_order(
    pod: Pod, allocation: Allocation, qos: str, since: datetime | None
) -> tuple[bool, int, bool, bool, datetime | None]:
    """Return the sort key of a deferred resize: those that do not grow first, then higher priority, then
    Guaranteed before Burstable, then the one that has waited longest."""
    granted = pod_requests(with_allocation(pod, allocation).spec)
    zero = parse("0")
    wanted = pod_requests(pod.spec)
    grows = any(wanted.get(name, zero) > granted.get(name, zero) for name in ("cpu", "memory"))
    return (grows, -(pod.spec.priority or 0), qos != "Guaranteed", since is None, since)

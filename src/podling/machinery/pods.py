"""Facts about pods that several components compute alike: requests, QoS class, kinds of pods.

The API server writes ``status.qosClass`` and checks updates against it, the scheduler places by
effective requests, the kubelet builds cgroups and ranks evictions by both. They must agree,
so plain functions over the frozen types compute them here.

Upstream: ``pkg/apis/core/v1/helper/qos/qos.go``, ``component-helpers/resource/helpers.go``,
``pkg/kubelet/types/pod_update.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podling.api.core_v1 import Container, Pod, PodCondition, PodSpec
from podling.machinery.quantity import ZERO, Quantity, parse
from podling.machinery.resource_names import is_huge_page

GUARANTEED = "Guaranteed"
BURSTABLE = "Burstable"
BEST_EFFORT = "BestEffort"

SYSTEM_CRITICAL_PRIORITY = 2_000_000_000
"""Priorities from here on are critical: such pods may preempt others during the kubelet's admission."""
CLUSTER_CRITICAL, NODE_CRITICAL = "system-cluster-critical", "system-node-critical"
SYSTEM_PRIORITIES = {
    CLUSTER_CRITICAL: SYSTEM_CRITICAL_PRIORITY,
    NODE_CRITICAL: SYSTEM_CRITICAL_PRIORITY + 1000,
}
"""The priority classes that Kubernetes itself has, and the only ones whose names begin with ``system-``."""

TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
"""The annotation of a DaemonSet that counts its templates."""

HIGHEST_USER_PRIORITY = 1_000_000_000
"""The highest value a PriorityClass that users make may have."""

MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
SOURCE_ANNOTATION = "kubernetes.io/config.source"

QOS_RESOURCES = ("cpu", "memory")
"""The only resources that decide a pod's quality of service."""

Resources = dict[str, Quantity]


def is_sidecar(container: Container) -> bool:
    """Return whether an init container keeps running beside the regular ones (``restartPolicy: Always``)."""
    return container.restart_policy == "Always"


def is_pod_level_resource(name: str) -> bool:
    """Return whether ``spec.resources`` may set this resource for the pod as a whole."""
    return name in QOS_RESOURCES or is_huge_page(name)


def has_pod_level_resources(spec: PodSpec) -> bool:
    """Return whether the pod as a whole has requests or limits (``IsPodLevelResourcesSet``)."""
    own = spec.resources
    return own is not None and any(map(is_pod_level_resource, (*own.requests, *own.limits)))


def regular_and_init(spec: PodSpec) -> Iterator[Container]:
    """Yield every container but the ephemeral ones, init containers first."""
    yield from spec.init_containers
    yield from spec.containers


def qos_class(spec: PodSpec) -> str:
    """``Guaranteed``, ``Burstable`` or ``BestEffort``.

    Zero quantities count as absent. When ``spec.resources`` is set, the containers' own resources do
    not matter any more.
    """
    requests: Resources = {}
    limits: Resources = {}
    every_container_limited = True
    if spec.resources is not None and has_pod_level_resources(spec):
        requests = _positive(spec.resources.requests)
        limits = _positive(spec.resources.limits)
        every_container_limited = len(limits) == len(QOS_RESOURCES)
    else:
        for container in regular_and_init(spec):
            resources = container.resources
            if resources.requests:
                _add(requests, _positive(resources.requests))
            own_limits = _positive(resources.limits) if resources.limits else {}
            _add(limits, own_limits)
            if len(own_limits) < len(QOS_RESOURCES):
                every_container_limited = False
    if not requests and not limits:
        return BEST_EFFORT
    if every_container_limited and requests == limits:
        return GUARANTEED
    return BURSTABLE


def qos_class_of(pod: Pod) -> str:
    """Return the class recorded in the status, or, for a pod that has none yet, the one it would get."""
    return pod.status.qos_class or qos_class(pod.spec)


def pod_requests(spec: PodSpec) -> Resources:
    """Return the pod's effective requests: the most it needs at any time, plus overhead."""
    total = _aggregate(spec, "requests")
    if spec.resources is not None:
        total.update(_pod_level(spec.resources.requests))
    _add(total, _parsed(spec.overhead))
    return total


def pod_limits(spec: PodSpec) -> Resources:
    """The most the pod may use. Overhead counts only where there is a limit at all."""
    total = _aggregate(spec, "limits")
    if spec.resources is not None:
        total.update(_pod_level(spec.resources.limits))
    _add(total, {name: value for name, value in _parsed(spec.overhead).items() if name in total})
    return total


def container_requests_total(spec: PodSpec) -> Resources:
    """Return the containers' requests alone: without pod-level resources and overhead."""
    return _aggregate(spec, "requests")


def container_limits_total(spec: PodSpec) -> Resources:
    """Return the containers' limits alone: without pod-level resources and overhead."""
    return _aggregate(spec, "limits")


def is_terminal(pod: Pod) -> bool:
    """Return whether the phase is final: ``Succeeded`` or ``Failed``."""
    return pod.status.phase in ("Succeeded", "Failed")


def is_mirror(pod: Pod) -> bool:
    """Return whether the pod only mirrors, in the API, a static pod of some kubelet."""
    return MIRROR_ANNOTATION in pod.metadata.annotations


def is_static(pod: Pod) -> bool:
    """Return whether the pod came to its kubelet from a file or URL rather than from the API."""
    return has_static_source(pod.metadata.annotations)


def has_static_source(annotations: Mapping[str, str]) -> bool:
    """Return whether the annotations are those of a static pod."""
    return annotations.get(SOURCE_ANNOTATION, "api") != "api"


def is_critical(pod: Pod) -> bool:
    """Return whether the pod is critical for its node: static, mirror, or of system priority."""
    return is_static(pod) or is_mirror(pod) or (pod.spec.priority or 0) >= SYSTEM_CRITICAL_PRIORITY


def condition(pod: Pod, type_: str) -> PodCondition | None:
    """Return the pod's condition of that type, if it has one."""
    return next((found for found in pod.status.conditions if found.type == type_), None)


def is_ready(pod: Pod) -> bool:
    """Return whether the ``Ready`` condition is True."""
    ready = condition(pod, "Ready")
    return ready is not None and ready.status == "True"


def _parsed(resources: Mapping[str, str]) -> Resources:
    return {name: parse(value) for name, value in resources.items()}


def _positive(resources: Mapping[str, str]) -> Resources:
    found = {name: parse(resources[name]) for name in QOS_RESOURCES if name in resources}
    return {name: value for name, value in found.items() if value > ZERO}


def _pod_level(resources: Mapping[str, str]) -> Resources:
    return {name: parse(value) for name, value in resources.items() if is_pod_level_resource(name)}


def _add(total: Resources, more: Mapping[str, Quantity]) -> None:
    for name, value in more.items():
        total[name] = total[name] + value if name in total else value


def _raise_to(total: Resources, floor: Mapping[str, Quantity]) -> None:
    for name, value in floor.items():
        if name not in total or total[name] < value:
            total[name] = value


def _own(container: Container, field: str) -> Resources:
    resources = container.resources
    return _parsed(resources.requests if field == "requests" else resources.limits)


def _aggregate(spec: PodSpec, field: str) -> Resources:
    """The larger of: everything that runs in the end, and each init container with what runs beside it.

    A sidecar starts in its place among the init containers and stays: it counts beside every later
    init container and beside the regular containers.
    """
    running: Resources = {}
    for container in spec.containers:
        _add(running, _own(container, field))
    sidecars: Resources = {}
    starting: Resources = {}
    for container in spec.init_containers:
        own = _own(container, field)
        if is_sidecar(container):
            _add(running, own)
            _add(sidecars, own)
            need = dict(sidecars)
        else:
            need = dict(own)
            _add(need, sidecars)
        _raise_to(starting, need)
    _raise_to(running, starting)
    return running

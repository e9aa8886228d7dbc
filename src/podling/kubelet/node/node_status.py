"""The Node object: labels, capacity, addresses and conditions.

Pure: the machine's facts, the configuration and the runtime's status are arguments. Reasons and messages of
the conditions are Kubernetes' (``pkg/kubelet/nodestatus/setters.go``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct, structs

from podling.api.core_v1 import (
    ContainerImage,
    DaemonEndpoint,
    Node,
    NodeAddress,
    NodeCondition,
    NodeDaemonEndpoints,
    NodeFeatures,
    NodeRuntimeHandler,
    NodeRuntimeHandlerFeatures,
    NodeSpec,
    NodeStatus,
    NodeSwapStatus,
    NodeSystemInfo,
)
from podling.api.meta_v1 import ObjectMeta
from podling.clock import seconds_precision
from podling.kubelet.config import KubeletConfig
from podling.kubelet.node.allocatable import allocatable
from podling.kubelet.node.machine import Machine
from podling.kubelet.version import KUBERNETES_VERSION
from podling.machinery.conditions import transition_time
from podling.machinery.quantity import Format, canonical, of
from podling.machinery.resource_names import HUGE_PAGES, is_huge_page
from podling.runtime.base import RuntimeStatus
from podling.runtime.image_service import Image

IMAGE_NAMES_MAX = 5

ATTACH_DETACH_ANNOTATION = "volumes.kubernetes.io/controller-managed-attach-detach"
DEFAULT_LABELS = frozenset(
    {
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "node.kubernetes.io/instance-type",
        "beta.kubernetes.io/instance-type",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "node.kubernetes.io/windows-build",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
    }
)
"""The labels that the kubelet corrects on a node that was registered before (``updateDefaultLabels``)."""


class NodeHealth(Struct, frozen=True):
    """The facts from which the node's conditions are decided. Pressures are those that hold now."""

    runtime: RuntimeStatus | None = None
    runtime_error: str = ""
    memory_pressure: bool = False
    disk_pressure: bool = False
    pid_pressure: bool = False
    shutting_down: bool = False


def capacity(machine: Machine, config: KubeletConfig) -> dict[str, str]:
    """Return the node's capacity as quantities; configured amounts replace detected ones."""
    binary = Format.BINARY_SI
    found = {
        "cpu": str(machine.cpus),
        "ephemeral-storage": str(of(machine.ephemeral_storage, binary)),
        "memory": str(of(machine.memory, binary)),
        "pods": str(_pods(machine, config)),
    }
    for size, amount in machine.huge_pages.items():
        found[f"{HUGE_PAGES}{of(size, binary)}"] = str(of(amount, binary))
    found.update({name: canonical(amount) for name, amount in config.capacity.items()})
    return {name: found[name] for name in sorted(found)}


def _pods(machine: Machine, config: KubeletConfig) -> int:
    if config.pods_per_core <= 0:
        return config.max_pods
    return min(machine.cpus * config.pods_per_core, config.max_pods)


def with_advertised_resources(own: Mapping[str, str], before: Mapping[str, str]) -> dict[str, str]:
    """Return the node's own capacity with the resources that other clients advertise in the API.

    Extended resources stay as they were patched, also at registration: upstream zeroes them only on a node
    without device manager files, which its own socket always is. Sizes of huge pages that the machine
    does not support are removed.
    """
    others = {name: amount for name, amount in before.items() if not is_huge_page(name)}
    found = {**others, **own}
    return {name: found[name] for name in sorted(found)}


def node_addresses(machine: Machine, config: KubeletConfig, hostname: str) -> tuple[NodeAddress, ...]:
    found = config.node_addresses or (machine.address,)
    internal = tuple(NodeAddress(type="InternalIP", address=address) for address in found)
    external = tuple(NodeAddress(type="ExternalIP", address=each) for each in config.external_addresses)
    return (*internal, *external, NodeAddress(type="Hostname", address=hostname))


def internal_ips(addresses: Iterable[NodeAddress]) -> tuple[str, ...]:
    """Return the node's own IP addresses, the primary one first."""
    return tuple(found.address for found in addresses if found.type == "InternalIP")


def node_labels(machine: Machine, config: KubeletConfig, hostname: str) -> dict[str, str]:
    return {
        "beta.kubernetes.io/arch": machine.architecture,
        "beta.kubernetes.io/os": machine.operating_system,
        "kubernetes.io/arch": machine.architecture,
        "kubernetes.io/hostname": hostname,
        "kubernetes.io/os": machine.operating_system,
        **config.node_labels,
    }


def initial_node(name: str, hostname: str, machine: Machine, config: KubeletConfig, now: datetime) -> Node:
    """Return the node for its registration, without the kubelet's own conditions."""
    return Node(
        metadata=ObjectMeta(
            name=name,
            labels=node_labels(machine, config, hostname),
            annotations={ATTACH_DETACH_ANNOTATION: "true", **config.node_annotations},
        ),
        spec=NodeSpec(provider_id=config.provider_id, taints=config.register_with_taints),
        status=NodeStatus(conditions=(_no_route(now),) if config.network_unavailable else ()),
    )


def _no_route(now: datetime) -> NodeCondition:
    """Return the condition of a node whose routes another component makes (upstream: cloud providers)."""
    moment = seconds_precision(now)
    return NodeCondition(
        type="NetworkUnavailable",
        status="True",
        reason="NoRouteCreated",
        message="Node created without a route",
        last_heartbeat_time=moment,
        last_transition_time=moment,
    )


def reconcile_node(existing: Node, planned: Node) -> Node:
    """Return a node that was registered before with the labels and annotations that the kubelet keeps.

    Everything else of its metadata and spec belongs to others: taints and further labels are set only
    when the kubelet creates the node (``tryRegisterWithAPIServer``).
    """
    metadata = existing.metadata
    kept = {key: value for key, value in planned.metadata.labels.items() if key in DEFAULT_LABELS}
    labels = {**metadata.labels, **kept}
    annotations = {**metadata.annotations, **planned.metadata.annotations}
    if (labels, annotations) == (metadata.labels, metadata.annotations):
        return existing
    return structs.replace(
        existing, metadata=structs.replace(metadata, labels=labels, annotations=annotations)
    )


def node_status(
    before: NodeStatus,
    machine: Machine,
    config: KubeletConfig,
    hostname: str,
    health: NodeHealth,
    images: Sequence[Image],
    now: datetime,
) -> NodeStatus:
    """Return the status as it is now, over the one that the API holds."""
    has = with_advertised_resources(capacity(machine, config), before.capacity)
    port = config.port
    return structs.replace(
        before,
        capacity=has,
        allocatable=allocatable(has, config),
        addresses=node_addresses(machine, config, hostname),
        conditions=_conditions(before.conditions, health, now),
        daemon_endpoints=NodeDaemonEndpoints(kubelet_endpoint=DaemonEndpoint(port=port)),
        features=NodeFeatures(supplemental_groups_policy=True),
        runtime_handlers=_runtime_handlers(health.runtime),
        images=node_images(images, config.node_status_max_images),
        node_info=_node_info(machine, health.runtime),
    )


def _runtime_handlers(runtime: RuntimeStatus | None) -> tuple[NodeRuntimeHandler, ...]:
    """Return the ways in which the runtime runs pods, by name."""
    handlers = runtime.handlers if runtime is not None else ()
    return tuple(
        NodeRuntimeHandler(
            name=handler.name,
            features=NodeRuntimeHandlerFeatures(
                recursive_read_only_mounts=handler.recursive_read_only_mounts,
                user_namespaces=handler.user_namespaces,
            ),
        )
        for handler in sorted(handlers, key=lambda handler: handler.name)
    )


def _node_info(machine: Machine, runtime: RuntimeStatus | None) -> NodeSystemInfo:
    return NodeSystemInfo(
        architecture=machine.architecture,
        boot_id=machine.boot_id,
        container_runtime_version=f"{runtime.name}://{runtime.version}" if runtime is not None else "",
        kernel_version=machine.kernel_version,
        kubelet_version=KUBERNETES_VERSION,
        kube_proxy_version="",
        machine_id=machine.machine_id,
        operating_system=machine.operating_system,
        os_image=machine.os_image,
        system_uuid=machine.system_uuid,
        swap=NodeSwapStatus(capacity=machine.swap) if machine.swap else None,
    )


def node_images(images: Iterable[Image], most: int) -> tuple[ContainerImage, ...]:
    """Return the largest images, for the scheduler's image locality score; all if ``most`` is -1."""
    named = (image for image in images if image.digests or image.tags)
    largest = sorted(named, key=lambda image: (-image.size_bytes, image.id))
    largest = largest if most < 0 else largest[:most]
    return tuple(
        ContainerImage(names=(*image.digests, *image.tags)[:IMAGE_NAMES_MAX], size_bytes=image.size_bytes)
        for image in largest
    )


def _conditions(
    before: Sequence[NodeCondition], health: NodeHealth, now: datetime
) -> tuple[NodeCondition, ...]:
    """Return all conditions, each in its old place; only the kubelet's own are updated.

    They keep their transition time while their status is unchanged.
    """
    wanted = [
        _pressure(
            "MemoryPressure", health.memory_pressure, "InsufficientMemory", "SufficientMemory", "memory"
        ),
        _disk(health.disk_pressure),
        _pressure("PIDPressure", health.pid_pressure, "InsufficientPID", "SufficientPID", "PID"),
        _ready(health),
    ]
    found = {held.type: held for held in before}
    moment = seconds_precision(now)
    for condition in wanted:
        changed = transition_time(found.get(condition.type), condition.status, now)
        found[condition.type] = structs.replace(
            condition, last_heartbeat_time=moment, last_transition_time=changed
        )
    return tuple(found.values())


def _pressure(type_: str, pressed: bool, bad: str, good: str, noun: str) -> NodeCondition:
    verb = "has insufficient" if pressed else "has sufficient"
    return NodeCondition(
        type=type_,
        status="True" if pressed else "False",
        reason=f"KubeletHas{bad if pressed else good}",
        message=f"kubelet {verb} {noun} available",
    )


def _disk(pressed: bool) -> NodeCondition:
    return NodeCondition(
        type="DiskPressure",
        status="True" if pressed else "False",
        reason="KubeletHasDiskPressure" if pressed else "KubeletHasNoDiskPressure",
        message="kubelet has disk pressure" if pressed else "kubelet has no disk pressure",
    )


def _ready(health: NodeHealth) -> NodeCondition:
    problems = []
    if health.runtime is None:
        text = health.runtime_error or "container runtime status check may not have completed yet"
        problems.append(text)
    else:
        if not health.runtime.runtime_ready:
            problems.append(f"container runtime not ready: {health.runtime.runtime_message}")
        if not health.runtime.network_ready:
            problems.append(f"container runtime network not ready: {health.runtime.network_message}")
    if health.shutting_down:
        problems.append("node is shutting down")
    if problems:
        message = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        return NodeCondition(type="Ready", status="False", reason="KubeletNotReady", message=message)
    text = "kubelet is posting ready status"
    return NodeCondition(type="Ready", status="True", reason="KubeletReady", message=text)


def equal_except_heartbeat(left: NodeStatus, right: NodeStatus) -> bool:
    """Return whether two statuses are equal apart from their heartbeat times."""
    return _without_heartbeat(left) == _without_heartbeat(right)


def _without_heartbeat(status: NodeStatus) -> NodeStatus:
    conditions = tuple(structs.replace(found, last_heartbeat_time=None) for found in status.conditions)
    return structs.replace(status, conditions=conditions)

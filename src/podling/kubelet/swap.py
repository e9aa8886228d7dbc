"""Swap: the machines on which a kubelet does not start, and the swap that containers may use. Pure.

No container gets swap unless ``memorySwap.swapBehavior`` is ``LimitedSwap``; then a container of a Burstable
pod gets the part of the node's swap that its memory request is of the node's memory.
Upstream: ``pkg/kubelet/util/swap``, ``pkg/kubelet/kuberuntime/kuberuntime_container_linux.go``.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from podling.api.core_v1 import Container, Pod
from podling.kubelet.config import KubeletConfig
from podling.machinery.pods import BURSTABLE, is_critical, qos_class
from podling.machinery.quantity import value

NO_SWAP, LIMITED_SWAP = "NoSwap", "LimitedSwap"


class NodeMemory(Struct, frozen=True):
    """The node's memory and swap, and the memory that pods may request, in bytes."""

    capacity: int = 0
    swap: int = 0
    allocatable: int = 0


def swap_refusal(config: KubeletConfig, areas: Sequence[str]) -> str:
    """Return why the kubelet does not start on a machine with these swap areas; empty if it does.

    Raises ``ValueError`` for an unknown behaviour.
    """
    if config.memory_swap_swap_behavior not in ("", NO_SWAP, LIMITED_SWAP):
        raise ValueError(
            "invalid configuration: memorySwap.swapBehavior must be one of: "
            f'"", "{LIMITED_SWAP}" or "{NO_SWAP}"'
        )
    if not config.fail_swap_on or not areas:
        return ""
    return (
        "running with swap on is not supported, please disable swap or set --fail-swap-on flag to false "
        f"(/proc/swaps contains: {', '.join(areas)})"
    )


def swap_behavior(pod: Pod, container: Container, config: KubeletConfig) -> str:
    """Return ``LimitedSwap`` if the container may use swap, else ``NoSwap``."""
    if (
        config.memory_swap_swap_behavior != LIMITED_SWAP
        or is_critical(pod)
        or qos_class(pod.spec) != BURSTABLE
    ):
        return NO_SWAP
    request = container.resources.requests.get("memory")
    limit = container.resources.limits.get("memory")
    if request is None or value(request) == 0 or (limit is not None and value(limit) == value(request)):
        return NO_SWAP
    return LIMITED_SWAP


def swap_bytes(pod: Pod, container: Container, config: KubeletConfig, node: NodeMemory) -> int:
    """Return the swap that the container may use."""
    if swap_behavior(pod, container, config) == NO_SWAP or not node.capacity:
        return 0
    return int(value(container.resources.requests["memory"]) / node.capacity * node.swap)

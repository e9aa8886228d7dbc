"""Validation of amounts and policies that upstream's kubelet reads only after its configuration. Pure.

Podling reports them with all others, before anything starts: thresholds of evictions
(``eviction.ParseThresholdConfig``), reservations (``parseResourceList`` in ``cmd/kubelet/app/server.go``) and
policies of the managers (``cm.NewContainerManager``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podling.kubelet.configuration.types import KubeletConfiguration
from podling.kubelet.node.node_pressure import thresholds
from podling.kubelet.topology.cpu_rules import parse_options
from podling.kubelet.topology.policy_options import parse_topology_options
from podling.machinery.durations import seconds_of
from podling.machinery.feature_gates import GATES
from podling.machinery.quantity import ZERO, parse

_RESERVABLE = ("cpu", "memory", "ephemeral-storage", "pid")
_CPU_POLICIES = ("", "none", "static")
_MEMORY_POLICIES = ("", "None", "Static")


def amount_problems(found: KubeletConfiguration) -> Iterator[str]:
    """Yield why amounts and policies of a configuration cannot be used, with the field of each."""
    yield from _evictions(found)
    yield from _reservations("systemReserved", found.system_reserved)
    yield from _reservations("kubeReserved", found.kube_reserved)
    for each in found.reserved_memory:
        for name, amount in each.limits.items():
            yield from _quantity("reservedMemory", name, amount)
    yield from _policies(found)


def _evictions(found: KubeletConfiguration) -> Iterator[str]:
    """Check each map by itself first, so that a problem names the field in which it is."""
    maps = {
        "evictionHard": found.eviction_hard,
        "evictionSoft": found.eviction_soft,
        "evictionMinimumReclaim": found.eviction_minimum_reclaim,
    }
    clean = True
    for field, given in maps.items():
        for signal, amount in given.items():
            try:
                thresholds({signal: amount}, {}, {})
            except ValueError as error:
                clean = False
                yield f'{field} "{signal}" {amount}: {error}'
    if clean:
        try:
            grace = {name: seconds_of(text) for name, text in found.eviction_soft_grace_period.items()}
            thresholds({}, found.eviction_soft, grace)
        except ValueError as error:
            yield f"evictionSoftGracePeriod: {error}"


def _reservations(field: str, reserved: Mapping[str, str]) -> Iterator[str]:
    for name, amount in reserved.items():
        if name in _RESERVABLE:
            yield from _quantity(field, name, amount)
        else:
            yield f'{field}: cannot reserve "{name}" resource'


def _quantity(field: str, name: str, amount: str) -> Iterator[str]:
    try:
        if parse(amount) < ZERO:
            yield f'{field}: resource quantity for "{name}" cannot be negative: {amount}'
    except ValueError as error:
        yield f'{field}: failed to parse quantity "{amount}" for "{name}" resource: {error}'


def _policies(found: KubeletConfiguration) -> Iterator[str]:
    if found.cpu_manager_policy not in _CPU_POLICIES:
        yield f'cpuManagerPolicy: unknown policy: "{found.cpu_manager_policy}"'
    if found.memory_manager_policy not in _MEMORY_POLICIES:
        yield f'memoryManagerPolicy: unknown policy: "{found.memory_manager_policy}"'
    gates = {name: on for name, on in found.feature_gates.items() if name in GATES}
    try:
        parse_options(found.cpu_manager_policy_options, gates)
    except ValueError as error:
        yield f"cpuManagerPolicyOptions: {error}"
    try:
        parse_topology_options(found.topology_manager_policy_options)
    except ValueError as error:
        yield f"topologyManagerPolicyOptions: {error}"

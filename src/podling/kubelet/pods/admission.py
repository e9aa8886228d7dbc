"""Admission of a bound pod by its node. Pure.

The scheduler decides with its own view of the node; the node decides again with the present facts. A pod
that does not fit is failed, not moved: its controller creates another. Only the first problem is reported
(``pkg/kubelet/lifecycle/predicate.go``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from podling.api.core_v1 import Node, NodeSelectorTerm, Pod
from podling.kubelet.config import KubeletConfig
from podling.kubelet.containers.security_modules import app_armor_refusal
from podling.kubelet.node.machine import Machine
from podling.kubelet.pods.sysctls import forbidden_sysctl
from podling.kubelet.status.status import Verdict
from podling.machinery.pods import is_sidecar, is_static, pod_requests
from podling.machinery.quantity import Quantity, parse, value
from podling.machinery.resource_names import is_extended
from podling.machinery.selectors import SelectorError, from_node_selector_requirements
from podling.machinery.tolerations import tolerates


class Waiting(Struct, frozen=True):
    """The node will admit the pod when the pods that it preempts have ended."""


class Occupant(Struct, frozen=True):
    """The claim of one pod on its node: resources, and (protocol, address, number) of host ports."""

    requests: Mapping[str, Quantity]
    host_ports: tuple[tuple[str, str, int], ...]


def occupant(pod: Pod) -> Occupant:
    return Occupant(pod_requests(pod.spec), _host_ports(pod))


def admit(
    pod: Pod, node: Node, others: Sequence[Occupant], config: KubeletConfig, machine: Machine
) -> Verdict | None:
    """Return None if the node admits ``pod`` beside ``others`` (its active pods), else the reason."""
    own = occupant(pod)
    problem = (
        _sysctls(pod, config)
        or _app_armor(pod, machine)
        or _devices(pod)
        or _operating_system(pod, node)
        or _resources(own, node, others)
        or _affinity(pod, node)
        or _name(pod, node)
        or _ports(own, others)
        or _taints(pod, node)
    )
    if problem is None:
        return None
    reason, message = problem
    return Verdict(reason, f"Pod was rejected: {message}")


def refusal_text(refusal: Verdict) -> str:
    """Return why the node does not admit a pod."""
    return refusal.message.removeprefix("Pod was rejected: ")


Problem = tuple[str, str] | None


def _sysctls(pod: Pod, config: KubeletConfig) -> Problem:
    spec = pod.spec
    for sysctl in spec.security_context.sysctls if spec.security_context is not None else ():
        problem = forbidden_sysctl(
            sysctl.name,
            config.allowed_unsafe_sysctls,
            host_network=bool(spec.host_network),
            host_ipc=bool(spec.host_ipc),
        )
        if problem:
            return "SysctlForbidden", f"forbidden sysctl: {problem}"
    return None


def _app_armor(pod: Pod, machine: Machine) -> Problem:
    refusal = app_armor_refusal(pod, enabled=machine.app_armor)
    if not refusal or pod.status.phase not in ("", "Pending"):
        return None
    return "AppArmor", f"Cannot enforce AppArmor: {refusal}"


def _devices(pod: Pod) -> Problem:
    if pod.spec.resource_claims:
        return "UnexpectedAdmissionError", "dynamic resource allocation is not supported by this node"
    return None


def _operating_system(pod: Pod, node: Node) -> Problem:
    label = "kubernetes.io/os"
    wanted = pod.spec.node_selector.get(label)
    if wanted is not None and wanted != node.metadata.labels.get(label):
        text = "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"
        return "PodOSSelectorNodeLabelDoesNotMatch", text
    if pod.spec.os is not None and pod.spec.os.name != node.metadata.labels.get(label):
        return "PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS"
    return None


def _resources(own: Occupant, node: Node, others: Sequence[Occupant]) -> Problem:
    pods = value(node.status.allocatable.get("pods", "110"))
    if pods < len(others) + 1:
        return "OutOfpods", _short("pods", 1, len(others), pods)
    return shortage(own.requests, node, others)


def shortage(requested: Mapping[str, Quantity], node: Node, others: Sequence[Occupant]) -> Problem:
    """Return the reason and message for the first resource of which too little is left, or None.

    An extended resource that the node does not list belongs to the cluster; the node does not count it.
    """
    allocatable = {name: parse(amount) for name, amount in node.status.allocatable.items()}
    used: dict[str, Quantity] = {}
    for other in others:
        for name, amount in other.requests.items():
            used[name] = used[name] + amount if name in used else amount
    zero = parse("0")
    for name in sorted(requested, key=_resource_order):
        if not requested[name] > zero or (name not in allocatable and is_extended(name)):
            continue
        capacity, taken = allocatable.get(name, zero), used.get(name, zero)
        if requested[name] + taken > capacity:
            numbers = [_number(name, amount) for amount in (requested[name], taken, capacity)]
            return f"OutOf{name}", _short(name, *numbers)
    return None


def _resource_order(name: str) -> tuple[int, str]:
    order = ("cpu", "memory", "ephemeral-storage")
    return (order.index(name) if name in order else len(order), name)


def _number(name: str, amount: Quantity) -> int:
    return amount.milli_value if name == "cpu" else amount.value


def _short(name: str, requested: int, used: int, capacity: int) -> str:
    numbers = f"requested: {requested}, used: {used}, capacity: {capacity}"
    return f"Node didn't have enough resource: {name}, {numbers}"


def _affinity(pod: Pod, node: Node) -> Problem:
    if matches_node(pod, node):
        return None
    text = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
    return "NodeAffinity", text


def matches_node(pod: Pod, node: Node) -> bool:
    """Return whether node selector and required node affinity match the node."""
    labels = node.metadata.labels
    if any(labels.get(key) != value for key, value in pod.spec.node_selector.items()):
        return False
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    if required is None:
        return True
    fields = {"metadata.name": node.metadata.name or ""}
    return any(_term_matches(term, labels, fields) for term in required.node_selector_terms)


def _term_matches(term: NodeSelectorTerm, labels: Mapping[str, str], fields: Mapping[str, str]) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    for requirement in term.match_fields:
        found = fields.get(requirement.key) in requirement.values
        if found != (requirement.operator == "In"):
            return False
    try:
        return from_node_selector_requirements(term.match_expressions).matches(labels)
    except SelectorError:
        return False


def _name(pod: Pod, node: Node) -> Problem:
    if pod.spec.node_name and pod.spec.node_name != node.metadata.name:
        return "NodeName", "Predicate NodeName failed: node(s) didn't match the requested node name"
    return None


def _ports(own: Occupant, others: Sequence[Occupant]) -> Problem:
    if not own.host_ports:
        return None
    taken = {port for other in others for port in other.host_ports}
    for protocol, address, number in own.host_ports:
        for other_protocol, other_address, other_number in taken:
            same = number == other_number and protocol == other_protocol
            if same and ("0.0.0.0" in (address, other_address) or address == other_address):
                text = "node(s) didn't have free ports for the requested pod ports"
                return "NodePorts", f"Predicate NodePorts failed: {text}"
    return None


def _host_ports(pod: Pod) -> tuple[tuple[str, str, int], ...]:
    containers = (*filter(is_sidecar, pod.spec.init_containers), *pod.spec.containers)
    return tuple(
        (port.protocol or "TCP", port.host_ip or "0.0.0.0", port.host_port)
        for container in containers
        for port in container.ports
        if port.host_port
    )


def _taints(pod: Pod, node: Node) -> Problem:
    if is_static(pod):
        return None
    for taint in node.spec.taints:
        if taint.effect == "NoExecute" and not any(tolerates(t, taint) for t in pod.spec.tolerations):
            text = "node(s) had taints that the pod didn't tolerate"
            return "TaintToleration", f"Predicate TaintToleration failed: {text}"
    return None

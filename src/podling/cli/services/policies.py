"""NetworkPolicies that keep traffic from the pods of a Service. Pure.

Policies are additive: a pod that some policy of type Ingress selects accepts what any of them allows and
nothing else; other pods accept everything. Upstream: the API of ``networking.k8s.io/v1``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from podling.api.core_v1 import Pod, ServicePort
from podling.api.networking_v1 import (
    NetworkPolicy,
    NetworkPolicyIngressRule,
    NetworkPolicyPeer,
    NetworkPolicyPort,
)
from podling.cli.evidence import Explanation, Source
from podling.cli.services.evidence import ServiceEvidence, labels_text, port_text, target_of
from podling.machinery.pods import is_sidecar
from podling.machinery.selectors import from_label_selector


def denied(evidence: ServiceEvidence) -> Explanation | None:
    """A port of the Service that no policy allows, though some isolate its pods."""
    for pod in evidence.serving_pods():
        policies = isolating(evidence.policies, pod)
        for port in evidence.service.spec.ports:
            target = target_of(port, pod)
            if policies and target is not None and not allowing(policies, pod, port, target):
                return _denied(evidence, pod, port, target, policies)
    return None


def _denied(
    evidence: ServiceEvidence, pod: Pod, port: ServicePort, target: int, policies: Sequence[NetworkPolicy]
) -> Explanation:
    names = [policy.metadata.name or "" for policy in policies]
    shown = (
        f"NetworkPolicy {names[0]} isolates"
        if len(names) == 1
        else f"NetworkPolicies {', '.join(names)} isolate"
    )
    text = (
        f"{evidence.name} has endpoints, but nothing may connect to them: {shown} pod {pod.metadata.name}, "
    )
    text += f"and no rule allows its port {target}/{port.protocol or 'TCP'}, behind the Service's port "
    text += f"{port_text(port)}."
    edit = f"kubectl edit networkpolicy {names[0]} -n {evidence.namespace}"
    return Explanation(
        area="policy",
        reason="NetworkPolicy",
        text=text,
        advice=f"Allow the port in an ingress rule: {edit}",
        evidence=tuple(policy_source(policy) for policy in policies),
    )


def admitted_peers(evidence: ServiceEvidence) -> tuple[str, tuple[Source, ...]]:
    """Return a sentence about the peers that policies admit to the Service's pods; empty if all are."""
    for pod in evidence.serving_pods():
        policies = isolating(evidence.policies, pod)
        for port in evidence.service.spec.ports:
            target = target_of(port, pod)
            rules = allowing(policies, pod, port, target) if policies and target is not None else []
            if not rules or any(not rule.from_ for rule in rules):
                continue
            peers = dict.fromkeys(peer_text(peer) for rule in rules for peer in rule.from_)
            names = ", ".join(policy.metadata.name or "" for policy in policies)
            text = f"Not every client may connect, though: NetworkPolicy {names} admits to port "
            text += f"{port_text(port)} only {' and '.join(peers)}."
            return text, tuple(policy_source(policy) for policy in policies)
    return "", ()


def isolating(policies: Iterable[NetworkPolicy], pod: Pod) -> list[NetworkPolicy]:
    """Return the policies of the pod's namespace that select it for incoming traffic."""
    return [
        policy
        for policy in policies
        if "Ingress" in (policy.spec.policy_types or ("Ingress",))
        and policy.metadata.namespace == pod.metadata.namespace
        and from_label_selector(policy.spec.pod_selector).matches(pod.metadata.labels)
    ]


def allowing(
    policies: Iterable[NetworkPolicy], pod: Pod, port: ServicePort, target: int
) -> list[NetworkPolicyIngressRule]:
    """Return the rules that allow the pod's port ``target``, from any peer or from some."""
    return [
        rule
        for policy in policies
        for rule in policy.spec.ingress
        if not rule.ports or any(_covers(each, pod, port.protocol or "TCP", target) for each in rule.ports)
    ]


def _covers(allowed: NetworkPolicyPort, pod: Pod, protocol: str, number: int) -> bool:
    if (allowed.protocol or "TCP") != protocol:
        return False
    if allowed.port is None:
        return True
    if isinstance(allowed.port, int):
        return allowed.port <= number <= (allowed.end_port or allowed.port)
    sidecars = (each for each in pod.spec.init_containers if is_sidecar(each))
    return any(
        each.name == allowed.port and each.container_port == number and (each.protocol or "TCP") == protocol
        for container in (*pod.spec.containers, *sidecars)
        for each in container.ports
    )


def peer_text(peer: NetworkPolicyPeer) -> str:
    """Return a description of a policy's peer: ``pods app=web of namespaces team=a``."""
    if peer.ip_block is not None:
        but = f" without {', '.join(peer.ip_block.except_)}" if peer.ip_block.except_ else ""
        return f"addresses in {peer.ip_block.cidr}{but}"
    pods = _selected(peer.pod_selector, "pods", "every pod")
    if peer.namespace_selector is None:
        return f"{pods} of its namespace"
    return f"{pods} of {_selected(peer.namespace_selector, 'namespaces', 'every namespace')}"


def _selected(selector: object, noun: str, everything: str) -> str:
    labels = getattr(selector, "match_labels", None) or {}
    expressions = getattr(selector, "match_expressions", None) or ()
    terms = [labels_text(labels)] if labels else []
    for each in expressions:
        values = f" ({','.join(each.values)})" if each.values else ""
        terms.append(f"{each.key} {each.operator}{values}")
    return f"{noun} {', '.join(terms)}" if terms else everything


def policy_source(policy: NetworkPolicy) -> Source:
    types = ",".join(policy.spec.policy_types or ("Ingress",))
    return Source(kind="spec", name=f"networkpolicy {policy.metadata.name}", detail=types)

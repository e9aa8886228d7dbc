"""NetworkPolicies. Upstream: ``pkg/apis/networking/validation``."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from datetime import datetime
from typing import Any

from podling.api.networking_v1 import (
    IPBlock,
    NetworkPolicy,
    NetworkPolicyPeer,
    NetworkPolicyPort,
    NetworkPolicySpec,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.address_warnings import cidr_warnings
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import AGE, NAME, age, selector_text
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, fill_empty, map_items
from podling.machinery import fields, label_checks, names
from podling.machinery.fields import Path
from podling.machinery.tables import Column

SPEC = Path("spec")
POLICY_TYPES = ("Ingress", "Egress")
PROTOCOLS = ("TCP", "UDP", "SCTP")


class NetworkPolicyRules(KindRules[NetworkPolicy]):
    generation = True
    columns = (NAME, Column("Pod-Selector", description="Which pods the policy is about"), AGE)

    def default(self, obj: NetworkPolicy) -> NetworkPolicy:
        def with_protocols(rule: Any) -> Any:
            return change(rule, ports=map_items(rule.ports, lambda port: fill_empty(port, protocol="TCP")))

        spec = change(
            obj.spec,
            ingress=map_items(obj.spec.ingress, with_protocols),
            egress=map_items(obj.spec.egress, with_protocols),
        )
        if not spec.policy_types:
            types = ("Ingress", "Egress") if spec.egress else ("Ingress",)
            spec = change(spec, policy_types=types)
        return change(obj, spec=spec)

    def validate(self, obj: NetworkPolicy, context: Context) -> Errors:
        return _spec_errors(obj.spec, frozenset())

    def validate_update(self, new: NetworkPolicy, old: NetworkPolicy, context: Context) -> Errors:
        return _spec_errors(new.spec, {text for _, text in _all_blocks(old.spec)})

    def warnings(self, obj: NetworkPolicy, old: NetworkPolicy | None, context: Context) -> list[str]:
        return [text for path, block in _all_blocks(obj.spec) for text in cidr_warnings(path, block)]

    def row(self, obj: NetworkPolicy, now: datetime) -> Sequence[Any]:
        return obj.metadata.name, selector_text(obj.spec.pod_selector), age(obj, now)


def _all_blocks(spec: NetworkPolicySpec) -> Iterator[tuple[Path, str]]:
    """Yield the path and value of each CIDR."""
    rules = [
        *((SPEC.child("ingress").index(n).child("from"), rule.from_) for n, rule in enumerate(spec.ingress)),
        *((SPEC.child("egress").index(n).child("to"), rule.to) for n, rule in enumerate(spec.egress)),
    ]
    for path, peers in rules:
        for position, peer in enumerate(peers):
            here, block = path.index(position).child("ipBlock"), peer.ip_block
            if block is None:
                continue
            yield here.child("cidr"), block.cidr
            for number, text in enumerate(block.except_):
                yield here.child("except").index(number), text


def _spec_errors(spec: NetworkPolicySpec, known: Container[str]) -> Errors:
    """Return the errors in a spec. CIDRs in ``known``, those of the stored policy, stay valid."""
    errors = label_checks.label_selector(SPEC.child("podSelector"), spec.pod_selector)
    for position, rule in enumerate(spec.ingress):
        here = SPEC.child("ingress").index(position)
        errors += _port_and_peer_errors(here, rule.ports, here.child("from"), rule.from_, known)
    for position, out in enumerate(spec.egress):
        here = SPEC.child("egress").index(position)
        errors += _port_and_peer_errors(here, out.ports, here.child("to"), out.to, known)
    if len(spec.policy_types) > 2:
        text = "may not specify more than two policyTypes"
        return [*errors, fields.invalid(SPEC.child("policyTypes"), spec.policy_types, text)]
    for position, kind in enumerate(spec.policy_types):
        where = SPEC.child("policyTypes").index(position)
        errors += [] if kind in POLICY_TYPES else [fields.not_supported(where, kind, POLICY_TYPES)]
    return errors


def _port_and_peer_errors(
    path: Path,
    ports: Sequence[NetworkPolicyPort],
    peer_path: Path,
    peers: Sequence[NetworkPolicyPeer],
    known: Container[str],
) -> Errors:
    errors: Errors = []
    for position, port in enumerate(ports):
        here = path.child("ports").index(position)
        errors += checks.one_of(here.child("protocol"), port.protocol, PROTOCOLS)
        errors += _port_errors(here, port)
    for position, peer in enumerate(peers):
        errors += _peer_errors(peer_path.index(position), peer, known)
    return errors


def _port_errors(path: Path, port: NetworkPolicyPort) -> Errors:
    where, end = path.child("endPort"), port.end_port
    if port.port is None:
        text = "may not be specified when `port` is not specified"
        return [] if end is None else [fields.invalid(where, end, text)]
    errors = checks.port_or_name(path.child("port"), port.port)
    if end is None:
        return errors
    if isinstance(port.port, str):
        return [fields.invalid(where, end, "may not be specified when `port` is non-numeric"), *errors]
    if end < port.port:
        errors.append(fields.invalid(where, port.port, "must be greater than or equal to `port`"))
    return errors + checks.port_number(where, end)


def _peer_errors(path: Path, peer: NetworkPolicyPeer, known: Container[str]) -> Errors:
    errors = label_checks.label_selector(path.child("podSelector"), peer.pod_selector)
    errors += label_checks.label_selector(path.child("namespaceSelector"), peer.namespace_selector)
    selects = peer.pod_selector is not None or peer.namespace_selector is not None
    if peer.ip_block is None:
        return errors if selects else [*errors, fields.required(path, "must specify a peer")]
    errors += _block_errors(path.child("ipBlock"), peer.ip_block, known)
    if selects:
        errors.append(fields.forbidden(path, "may not specify both ipBlock and another peer"))
    return errors


def _block_errors(path: Path, block: IPBlock, known: Container[str]) -> Errors:
    where = path.child("cidr")
    if not block.cidr:
        return [fields.required(where)]
    errors, whole = checks.cidr(where, block.cidr, known), names.parse_cidr(block.cidr)
    if whole is None:
        return errors
    for position, text in enumerate(block.except_):
        here, part = path.child("except").index(position), names.parse_cidr(text)
        errors += checks.cidr(here, text, known)
        if part is None:
            continue
        if (
            part.network.network_address not in whole.network
            or whole.network.prefixlen >= part.network.prefixlen
        ):
            errors.append(fields.invalid(here, text, "must be a strict subset of `cidr`"))
    return errors

"""Pods as network policies see them, the selections of peers, and the node's own facts. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from ipaddress import ip_address

import msgspec
from msgspec import Struct

from podling.machinery.selectors import EVERYTHING, LabelSelector

INGRESS, EGRESS = "ingress", "egress"
DIRECTIONS = (INGRESS, EGRESS)

_DIGEST_DIGITS = 32
"""128 bits: no user can make two different chains of one name."""


class NamedPort(Struct, frozen=True):
    """A container's port that has a name. ``protocol`` is TCP, UDP or SCTP."""

    name: str
    protocol: str
    number: int


class PolicyPod(Struct, frozen=True, kw_only=True):
    """A pod with addresses of its own.

    ``key`` distinguishes all pods, also two of the same name after each other. ``local``: the pod is on this
    node, so the rules for its own traffic are here. ``ended``: it runs no more. It is no peer then, but stays
    isolated until its addresses are given back.
    """

    key: str
    namespace: str
    labels: dict[str, str] = {}
    addresses: tuple[str, ...] = ()
    ports: tuple[NamedPort, ...] = ()
    local: bool = False
    ended: bool = False


class NodeFacts(Struct, frozen=True):
    """The address families of the node's pods, and its addresses at which the cluster's DNS answers."""

    families: tuple[int, ...] = (4,)
    dns: tuple[str, ...] = ()


class Selection(Struct, frozen=True, kw_only=True):
    """Selects pods as peers: of one ``namespace``, or where it is empty of the namespaces selected."""

    namespace: str = ""
    namespaces: LabelSelector = EVERYTHING
    pods: LabelSelector = EVERYTHING

    def matches(
        self, namespace: str, namespace_labels: Mapping[str, str] | None, labels: Mapping[str, str]
    ) -> bool:
        """Return whether a pod is selected. ``namespace_labels`` is None for an unknown namespace, which only
        its name selects."""
        if self.namespace:
            return self.namespace == namespace and self.pods.matches(labels)
        return (
            namespace_labels is not None
            and self.namespaces.matches(namespace_labels)
            and self.pods.matches(labels)
        )


EVERY_POD = Selection()


class Members(Struct, frozen=True, kw_only=True):
    """The contents of a set: the addresses of selected pods, alone or with their ports of one name."""

    selection: Selection
    protocol: str = ""
    port: str = ""

    @property
    def name(self) -> str:
        """The name of the set, without its family. Equal contents have one name."""
        chosen = self.selection
        key = [chosen.namespace, _text(chosen.namespaces), _text(chosen.pods), self.protocol, self.port]
        return f"{'ports' if self.port else 'pods'}_{digest(key)}"

    def elements(self, pod: PolicyPod, address: str) -> list[str]:
        """Return the set's elements for one address of a pod that is selected."""
        if not self.port:
            return [address]
        wanted = (self.port, self.protocol)
        return [f"{address} . {port.number}" for port in pod.ports if (port.name, port.protocol) == wanted]


def _text(selector: LabelSelector) -> list[list[object]]:
    never: list[list[object]] = [["never"]] if selector.never else []
    return never + [[each.key, each.operator.value, sorted(each.values)] for each in selector.requirements]


def digest(value: object) -> str:
    """Return a short text for plain data or structs, the same for equal ones."""
    return hashlib.sha256(msgspec.json.encode(value)).hexdigest()[:_DIGEST_DIGITS]


def family_of(address: str) -> int:
    """Return 4 or 6."""
    return ip_address(address).version

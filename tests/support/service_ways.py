"""The ways to a Service in a cluster of two nodes, and what must answer on each. Pure.

A way is where a client stands, which of the Service's addresses it uses, and over which node. The expectation
is kube-proxy's: ``pkg/proxy/serviceport.go`` and ``pkg/proxy/nftables/proxier.go`` of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

NODES = (1, 2)
OUTSIDE = "outside"
NOBODY = "nobody"
"""The source that is expected where nothing answers."""


@dataclass(frozen=True)
class Case:
    """One Service: its servers are on ``nodes``."""

    name: str
    type: str = "ClusterIP"
    nodes: tuple[int, ...] = NODES
    external: str = "Cluster"
    internal: str = "Cluster"
    external_ip: bool = False


CASES = (
    Case("plain"),
    Case("near", nodes=(1,)),
    Case("internal-local", internal="Local"),
    Case("internal-near", nodes=(1,), internal="Local"),
    Case("nodeport", "NodePort"),
    Case("nodeport-near", "NodePort", nodes=(1,)),
    Case("nodeport-local", "NodePort", external="Local"),
    Case("nodeport-local-near", "NodePort", nodes=(1,), external="Local"),
    Case("balanced", "LoadBalancer"),
    Case("balanced-local", "LoadBalancer", external="Local"),
    Case("balanced-local-near", "LoadBalancer", nodes=(1,), external="Local"),
    Case("external", external_ip=True),
    Case("external-local", "NodePort", external="Local", external_ip=True),
    Case("empty", nodes=()),
    Case("nodeport-empty", "NodePort", nodes=()),
)


@dataclass(frozen=True)
class Position:
    """A client: a pod (``pod-1``), a node's host (``host-1``), or a machine outside of the cluster."""

    kind: str
    node: int = 0

    def __str__(self) -> str:
        return f"{self.kind}-{self.node}" if self.node else self.kind


POSITIONS = (*(Position(kind, node) for kind in ("pod", "host") for node in NODES), Position(OUTSIDE))


@dataclass(frozen=True)
class Way:
    """An address of a Service. ``over`` is the node that has the address, 0 for one of the cluster."""

    kind: str
    over: int = 0


@dataclass(frozen=True)
class Expected:
    """The nodes whose servers may answer, and the source that they see: ``client``, ``node-1``, ``node-2``.

    Without servers, ``is_refused`` says whether the client learns it at once.
    """

    servers: frozenset[int]
    source: str
    is_refused: bool = False


def ways(case: Case) -> Iterator[Way]:
    """Yield the addresses of a Service."""
    yield Way("cluster")
    if case.type in ("NodePort", "LoadBalancer"):
        yield from (Way("node-port", node) for node in NODES)
    if case.type == "LoadBalancer":
        yield from (
            Way("balancer", node) for node in NODES if case.external == "Cluster" or node in case.nodes
        )
    if case.external_ip:
        yield Way("external", 1)


def is_possible(position: Position, way: Way) -> bool:
    """Return whether packets of the client reach a node at all: machines outside know no cluster address."""
    return position.kind != OUTSIDE or way.kind != "cluster"


def expected(case: Case, position: Position, way: Way) -> Expected:
    """Return what must answer a client on one way."""
    if way.kind == "cluster":
        return _inside(case, position)
    here = _arrives_at(position, way)
    # Packets to another node leave the own node with its address, as for any other machine.
    is_local = position.node == here
    source = "client" if position.kind == OUTSIDE or is_local else f"node-{position.node}"
    if case.external == "Cluster":
        return _answer(case.nodes, f"node-{here}")
    if is_local:
        # Traffic that began on the node itself counts as inside the cluster.
        return _answer(case.nodes, "client" if position.kind == "pod" else f"node-{here}")
    if not case.nodes:
        return Expected(frozenset(), NOBODY, is_refused=True)
    return _answer(tuple(node for node in case.nodes if node == here), source, is_refused=False)


def _inside(case: Case, position: Position) -> Expected:
    source = "client" if position.kind == "pod" else f"node-{position.node}"
    if case.internal == "Cluster":
        return _answer(case.nodes, source)
    near = tuple(node for node in case.nodes if node == position.node)
    return _answer(near, source, is_refused=not case.nodes)


def _arrives_at(position: Position, way: Way) -> int:
    """Return the node that translates. Addresses that all nodes know are translated where they are used."""
    if position.node and way.kind in ("balancer", "external"):
        return position.node
    return way.over


def _answer(nodes: tuple[int, ...], source: str, *, is_refused: bool = True) -> Expected:
    if not nodes:
        return Expected(frozenset(), NOBODY, is_refused)
    return Expected(frozenset(nodes), source)

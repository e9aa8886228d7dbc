"""Groups of equal nodes, as scenarios name them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

Plain = dict[str, Any]

ZONE = "topology.kubernetes.io/zone"
OWN_LABELS = (
    "kubernetes.io/",
    "beta.kubernetes.io/",
    "topology.kubernetes.io/",
    "failure-domain.beta.kubernetes.io/",
)
"""The beginnings of labels that kubelets and clouds set, which say nothing about a choice of pods."""
CONDITION_TAINTS = "node.kubernetes.io/"


class NodeFacts(Struct, frozen=True):
    """One node of the other cluster, without its name."""

    cpu: str
    memory: str
    ephemeral_storage: str
    pods: int
    zone: str
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[tuple[str, str, str], ...] = ()


def facts_of(node: Plain) -> NodeFacts:
    """Return the facts of a Node object: what pods can have of it, labels, and lasting taints."""
    has = (node.get("status") or {}).get("allocatable") or (node.get("status") or {}).get("capacity") or {}
    labels = (node.get("metadata") or {}).get("labels") or {}
    taints = (node.get("spec") or {}).get("taints") or ()
    return NodeFacts(
        cpu=str(has.get("cpu", "4")),
        memory=str(has.get("memory", "16Gi")),
        ephemeral_storage=str(has.get("ephemeral-storage", "100Gi")),
        pods=int(has.get("pods", 110)),
        zone=str(labels.get(ZONE, "")),
        labels=tuple(sorted((k, str(v)) for k, v in labels.items() if not k.startswith(OWN_LABELS))),
        taints=tuple(
            sorted(
                (str(each["key"]), str(each.get("value", "")), str(each["effect"]))
                for each in taints
                if not str(each["key"]).startswith(CONDITION_TAINTS)
            )
        ),
    )


def groups(nodes: Iterable[tuple[str, NodeFacts]]) -> list[Plain]:
    """Return the groups of nodes by name and facts; equal nodes are one group, named after their names."""
    members: dict[NodeFacts, list[str]] = {}
    for name, facts in nodes:
        members.setdefault(facts, []).append(name)
    taken: set[str] = set()
    return [_group(facts, names, taken) for facts, names in members.items()]


def _group(facts: NodeFacts, names: list[str], taken: set[str]) -> Plain:
    group: Plain = {
        "name": _name(names, taken),
        "count": len(names),
        "cpu": facts.cpu,
        "memory": facts.memory,
        "ephemeralStorage": facts.ephemeral_storage,
        "pods": facts.pods,
    }
    if facts.zone:
        group["zones"] = [facts.zone]
    if facts.labels:
        group["labels"] = dict(facts.labels)
    if facts.taints:
        group["taints"] = [
            {"key": key, "effect": effect} | ({"value": value} if value else {})
            for key, value, effect in facts.taints
        ]
    return group


def _name(names: list[str], taken: set[str]) -> str:
    """Return a name for a group: the beginning that its nodes' names share, or ``node``."""
    first, last = min(names), max(names)
    common = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    base = re.sub(r"[^a-z0-9-]", "-", first[:common].lower()).strip("-")[:40].rstrip("-")
    base = re.sub(r"-?\d*$", "", base) or "node"
    name, number = base, 2
    while name in taken:
        name, number = f"{base}-{chr(95 + number)}", number + 1
    taken.add(name)
    return name

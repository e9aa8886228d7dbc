"""NUMA affinity: the hints of several managers merged into one, by the topology manager's policy. Pure.

A hint names NUMA nodes on which a request can be met, and says whether it is preferred: met with as few nodes
as the machine allows. ``None`` for the nodes stands for any. Upstream:
``pkg/kubelet/cm/topologymanager/policy*.go`` and ``numa_info.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product

from msgspec import Struct

NONE, BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE = "none", "best-effort", "restricted", "single-numa-node"
POLICIES = (NONE, BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE)
CONTAINER_SCOPE, POD_SCOPE = "container", "pod"
SCOPES = (CONTAINER_SCOPE, POD_SCOPE)

Mask = frozenset[int]


class Hint(Struct, frozen=True):
    """NUMA nodes that can meet a request; None: any of them."""

    nodes: Mask | None
    preferred: bool


Hints = Mapping[str, Sequence[Hint]]
"""The hints of one manager by resource. A resource without hints cannot be met."""

Distances = Mapping[int, Sequence[int]]


def masks(nodes: Sequence[int]) -> Iterator[Mask]:
    """Yield all combinations of NUMA nodes, the small ones first."""
    for size in range(1, len(nodes) + 1):
        yield from map(frozenset, combinations(nodes, size))


def narrower(left: Mask, right: Mask) -> bool:
    """Return whether ``left`` has fewer nodes, or as many but lower numbers."""
    if len(left) == len(right):
        return sum(1 << node for node in left) < sum(1 << node for node in right)
    return len(left) < len(right)


def merge(
    policy: str, providers: Iterable[Hints], nodes: Sequence[int], closest: Distances | None = None
) -> tuple[Hint, bool]:
    """Return the best common hint, and whether the policy admits it.

    ``closest`` are the distances between nodes if near ones are preferred to low numbers.
    """
    everything = frozenset(nodes)
    found = list(_by_resource(providers))
    if policy == SINGLE_NUMA_NODE:
        found = [
            [h for h in hints if h.preferred and (h.nodes is None or len(h.nodes) == 1)] for hints in found
        ]
        closest = None
    best = _best(found, everything, closest)
    if policy == SINGLE_NUMA_NODE and best.nodes == everything:
        best = Hint(None, best.preferred)
    return best, policy == BEST_EFFORT or best.preferred


def _by_resource(providers: Iterable[Hints]) -> Iterator[Sequence[Hint]]:
    for hints in providers:
        if not hints:
            yield (Hint(None, True),)
        for each in hints.values():
            yield each or (Hint(None, False),)


def _best(hints: Sequence[Sequence[Hint]], everything: Mask, closest: Distances | None) -> Hint:
    smallest = [min((len(h.nodes) for h in each if h.nodes is not None), default=0) for each in hints]
    size = max(smallest, default=0)
    best: Hint | None = None
    for permutation in product(*hints):
        candidate = _merged(permutation, everything)
        if candidate.nodes:
            best = candidate if best is None else _better(best, candidate, size, closest)
    return best or Hint(everything, False)


def _merged(permutation: Sequence[Hint], everything: Mask) -> Hint:
    given = [hint.nodes for hint in permutation if hint.nodes is not None]
    equal = all(nodes == given[0] for nodes in given)
    preferred = equal and all(hint.preferred for hint in permutation)
    return Hint(everything.intersection(*given), preferred)


def _better(current: Hint, candidate: Hint, size: int, closest: Distances | None) -> Hint:
    """Return the better of two hints. ``size`` is the least number of nodes that meets every request."""
    if current.preferred != candidate.preferred:
        return current if current.preferred else candidate
    old, new = current.nodes or frozenset(), candidate.nodes or frozenset()

    def fitter() -> Hint:
        return candidate if old != new and _fitter(new, old, closest) else current

    if current.preferred or len(old) > size or len(old) == len(new):
        return current if len(old) == size != len(new) else fitter()
    if len(old) == size or len(new) > size:
        return current
    return candidate if len(new) > len(old) else current


def _fitter(new: Mask, old: Mask, closest: Distances | None) -> bool:
    if closest is None:
        return narrower(new, old)
    if len(new) != len(old):
        return len(new) < len(old)
    before, after = _average_distance(old, closest), _average_distance(new, closest)
    return after < before if after != before else narrower(new, old)


def _average_distance(mask: Mask, distances: Distances) -> float:
    pairs = [distances[first][second] for first in mask for second in mask]
    return sum(pairs) / len(pairs)

"""Pod affinity terms, read once: which pods a term means, and across which topology."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from podling.api import meta_v1
from podling.api.core_v1 import PodAffinityTerm, WeightedPodAffinityTerm
from podling.machinery.selectors import NOTHING, LabelSelector, readable_selector


def selector_of(selector: meta_v1.LabelSelector | None) -> LabelSelector:
    """Return a label selector of a stored object; one that cannot be read selects nothing."""
    return readable_selector(selector) or NOTHING


class Term(Struct, frozen=True):
    """``namespaces`` by name, or by ``namespace_selector`` over their labels (unless that is NOTHING)."""

    selector: LabelSelector
    namespaces: frozenset[str]
    namespace_selector: LabelSelector
    topology_key: str
    weight: int = 0

    def matches(self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]) -> bool:
        """Return whether the term means a pod with these labels in a namespace with those."""
        if namespace not in self.namespaces and not self.namespace_selector.matches(namespace_labels):
            return False
        return self.selector.matches(labels)


def read_term(term: PodAffinityTerm, own_namespace: str, weight: int = 0) -> Term:
    """Without namespaces and namespace selector, the pod's own namespace is meant."""
    namespaces = frozenset(term.namespaces)
    if not namespaces and term.namespace_selector is None:
        namespaces = frozenset((own_namespace,))
    return Term(
        selector_of(term.label_selector),
        namespaces,
        selector_of(term.namespace_selector),
        term.topology_key,
        weight,
    )


def read_required(terms: tuple[PodAffinityTerm, ...], own_namespace: str) -> tuple[Term, ...]:
    return tuple(read_term(term, own_namespace) for term in terms)


def read_preferred(terms: tuple[WeightedPodAffinityTerm, ...], own_namespace: str) -> tuple[Term, ...]:
    return tuple(read_term(each.pod_affinity_term, own_namespace, each.weight) for each in terms)

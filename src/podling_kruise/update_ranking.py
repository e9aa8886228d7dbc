"""The order in which pods are updated: by priority, then scattered over labels. Pure.

Upstream: ``pkg/util/updatesort``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from podling.api.core_v1 import Pod
from podling.machinery.numbers import INT64_MAX, natural
from podling.machinery.selectors import readable_selector
from podling_kruise.common_types import PriorityStrategy, ScatterTerm

_NUMBER = re.compile(r"[0-9]*$")


def by_priority(strategy: PriorityStrategy | None, pods: Sequence[Pod]) -> list[Pod]:
    """Return the pods, those that the strategy prefers first; others keep their order."""
    if strategy is None:
        return list(pods)
    if strategy.weight_priority:
        return sorted(pods, key=lambda pod: -_weight(strategy, pod))
    return sorted(pods, key=lambda pod: _order(strategy, pod))


def _weight(strategy: PriorityStrategy, pod: Pod) -> int:
    total = 0
    for term in strategy.weight_priority:
        selector = readable_selector(term.match_selector)
        if selector is not None and selector.matches(pod.metadata.labels):
            total += term.weight
    return total


def _order(strategy: PriorityStrategy, pod: Pod) -> tuple[int, int]:
    """Return the level of the first key that the pod has, and its number, the highest first."""
    for level, term in enumerate(strategy.order_priority):
        value = pod.metadata.labels.get(term.ordered_key)
        if value is not None:
            match = _NUMBER.search(value)
            return level, -(natural(match[0], INT64_MAX) or 0 if match is not None else 0)
    return -1, 0


def scattered(terms: Sequence[ScatterTerm], chosen: Sequence[Pod], pods: Sequence[Pod]) -> list[Pod]:
    """Return the ``chosen`` of all ``pods`` so that those with a term's label are spread over the update."""
    if not terms or len(chosen) <= 1:
        return list(chosen)
    found = list(chosen)
    for term in _terms(terms, chosen):
        found = _scatter(term, found, pods)
    return found


def _terms(terms: Sequence[ScatterTerm], chosen: Sequence[Pod]) -> list[ScatterTerm]:
    """Return the terms that some pod matches, that of the most pods first."""
    if len(terms) == 1:
        return list(terms)
    counts = {(each.key, each.value): sum(_matches(each, pod) for pod in chosen) for each in terms}
    matching = [each for each in terms if counts[each.key, each.value]]
    return sorted(matching, key=lambda each: -counts[each.key, each.value])


def _matches(term: ScatterTerm, pod: Pod) -> bool:
    return pod.metadata.labels.get(term.key, "") == term.value


class _Groups(Struct, frozen=True):
    """The number of groups, and the pods of both sorts in each."""

    number: int
    matched: int
    unmatched: int
    remainder: int = 0


def _scatter(term: ScatterTerm, chosen: list[Pod], pods: Sequence[Pod]) -> list[Pod]:
    matched = [pod for pod in chosen if _matches(term, pod)]
    others = [pod for pod in chosen if not _matches(term, pod)]
    if len(matched) <= 1 or len(others) <= 1:
        return chosen
    total = sum(_matches(term, pod) for pod in pods)
    last = matched.pop()
    groups = _groups_by_density(total - 1, len(pods) - total, len(matched), len(others))
    made, others = others[: groups.remainder], others[groups.remainder :]
    for _ in range(groups.number):
        made += matched[: groups.matched] + others[: groups.unmatched]
        matched, others = matched[groups.matched :], others[groups.unmatched :]
    return [*made, *matched, *others, last]


def _groups(matched: int, unmatched: int) -> _Groups:
    number = min(matched, unmatched)
    return _Groups(number, _rounded(matched, number), _rounded(unmatched, number))


def _groups_by_density(total: int, total_others: int, matched: int, others: int) -> _Groups:
    """Return the groups of the update, unless the matched ones are denser in it than in all pods."""
    if total_others * matched >= others * total:
        return _groups(matched, others)
    whole = _groups(total, total_others)
    number = min(matched // whole.matched, others // whole.unmatched)
    return _Groups(number, whole.matched, whole.unmatched, others - number * whole.unmatched)


def _rounded(value: int, by: int) -> int:
    """Divide, rounding half up."""
    return (2 * value + by) // (2 * by)

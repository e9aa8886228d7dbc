"""Finds the sets that a pod belongs to without trying every selection. Pure but for itself.

A selection is filed under labels that its pods must have, so a pod is compared with the selections under its
own labels and those of its namespace only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podling.machinery.requirements import Operator
from podling.machinery.selectors import LabelSelector
from podling.network.policy.values import Members, PolicyPod, Selection

_Place = tuple[str, ...]
_EVERYWHERE: _Place = ("any",)
_REQUIRES_VALUE = (Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.IN)


class MemberIndex:
    """The contents of all sets in use."""

    def __init__(self) -> None:
        self._places: dict[_Place, dict[Members, None]] = {}

    def add(self, members: Members) -> None:
        for place in _places(members.selection):
            self._places.setdefault(place, {})[members] = None

    def remove(self, members: Members) -> None:
        for place in _places(members.selection):
            held = self._places[place]
            del held[members]
            if not held:
                del self._places[place]

    def matching(self, pod: PolicyPod, namespace_labels: Mapping[str, str] | None) -> Iterator[Members]:
        """Yield the contents of every set that the pod is selected for."""
        for place in _places_of_pod(pod, namespace_labels or {}):
            for members in self._places.get(place, ()):
                if members.selection.matches(pod.namespace, namespace_labels, pod.labels):
                    yield members


def _places(selection: Selection) -> list[_Place]:
    """Return the places of a selection; a pod that it selects looks in exactly one of them."""
    pods = _required(selection.pods)
    if selection.namespace:
        return [("namespace", selection.namespace, *pair) for pair in pods or [()]]
    if pods:
        return [("pod", *pair) for pair in pods]
    return [("label", *pair) for pair in _required(selection.namespaces)] or [_EVERYWHERE]


def _required(selector: LabelSelector) -> list[_Place]:
    """Return the values of one label, one of which every selected object has; empty without such a label."""
    for each in selector.requirements:
        if each.operator in _REQUIRES_VALUE:
            return [(each.key, value) for value in dict.fromkeys(each.values)]
    return []


def _places_of_pod(pod: PolicyPod, namespace_labels: Mapping[str, str]) -> Iterator[_Place]:
    yield _EVERYWHERE
    yield ("namespace", pod.namespace)
    for pair in pod.labels.items():
        yield ("pod", *pair)
        yield ("namespace", pod.namespace, *pair)
    for pair in namespace_labels.items():
        yield ("label", *pair)

"""The number of watches that a change wakes.

Source: ``apiserver/pkg/util/flowcontrol/watch_tracker.go``.
"""

from __future__ import annotations

from podling.client.requests import Target
from podling.machinery.selectors import SelectorError, parse_field_selector

SELECTOR_LENGTH_MAX = 1024
"""A longer field selector names no single object, and is not read here."""
_INDEXED = {"pods": "spec.nodeName"}
"""Fields by which events find their watchers: other watchers of such a field are not woken."""

Key = tuple[tuple[str, str], tuple[str, str]]
"""Group and resource, namespace and name."""


def exact_value(field_selector: str, field: str) -> str:
    """Return the value that a field selector demands of ``field``; empty if it does not."""
    if not field_selector or len(field_selector) > SELECTOR_LENGTH_MAX:
        return ""
    try:
        return parse_field_selector(field_selector).required_value(field) or ""
    except SelectorError:
        return ""


class WatchCounts:
    """Counts open watches by what they select."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], dict[tuple[str, str], int]] = {}
        """By group and resource: the number by namespace and name, each empty where a watch names none."""

    def register(self, target: Target, field_selector: str) -> Key | None:
        """Count a watch; return what ``forget`` takes at its end, or None if it is not counted."""
        field = _INDEXED.get(target.resource.plural)
        if field and exact_value(field_selector, field):
            return None
        name = target.name or exact_value(field_selector, "metadata.name")
        kind, place = (target.resource.group, target.resource.plural), (target.namespace, name)
        counts = self._counts.setdefault(kind, {})
        counts[place] = counts.get(place, 0) + 1
        return kind, place

    def forget(self, key: Key) -> None:
        kind, place = key
        counts = self._counts[kind]
        counts[place] -= 1
        if not counts[place]:
            del counts[place]
        if not counts:
            del self._counts[kind]

    def interested(self, target: Target) -> int:
        """Return the number of watches that a change of ``target`` may wake."""
        counts = self._counts.get((target.resource.group, target.resource.plural))
        if counts is None:
            return 0
        found = counts.get(("", ""), 0)
        if target.namespace:
            found += counts.get((target.namespace, ""), 0)
        if target.name:
            found += counts.get((target.namespace, target.name), 0)
        return found

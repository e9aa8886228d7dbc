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

Key = tuple[str, str, str, str]
"""Group, resource, namespace and name."""


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
        self._counts: dict[Key, int] = {}

    def register(self, target: Target, field_selector: str) -> Key | None:
        """Count a watch; return what ``forget`` takes at its end, or None if it is not counted."""
        field = _INDEXED.get(target.resource.plural)
        if field and exact_value(field_selector, field):
            return None
        name = target.name or exact_value(field_selector, "metadata.name")
        key = (target.resource.group, target.resource.plural, target.namespace, name)
        self._counts[key] = self._counts.get(key, 0) + 1
        return key

    def forget(self, key: Key) -> None:
        self._counts[key] -= 1
        if not self._counts[key]:
            del self._counts[key]

    def interested(self, target: Target) -> int:
        """Return the number of watches that a change of ``target`` may wake."""
        if not self._counts:
            return 0
        group, plural = target.resource.group, target.resource.plural
        found = self._counts.get((group, plural, "", ""), 0)
        if target.namespace:
            found += self._counts.get((group, plural, target.namespace, ""), 0)
        if target.name:
            found += self._counts.get((group, plural, target.namespace, target.name), 0)
        return found

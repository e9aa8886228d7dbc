"""Watches of custom resources, which end when their definition is deleted or changes.

A watcher that received objects in one shape must not continue in another, nor wait for ever for a resource
that is served no more: it lists again.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from podling.apiserver.registry.watch import ObjectWatch
from podling.machinery.scheme import Resource


class CustomWatches:
    """The watches that are open, by what they watch."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str, str], WeakKeyDictionary[ObjectWatch, None]] = {}

    def join(self, resource: Resource, watch: ObjectWatch) -> None:
        self._open.setdefault(_served(resource), WeakKeyDictionary())[watch] = None

    def end(self, resource: Resource) -> None:
        """End every watch of a resource, after what has happened so far."""
        for watch in tuple(self._open.pop(_served(resource), ())):
            watch.finish()


def _served(resource: Resource) -> tuple[str, str, str]:
    return resource.group, resource.version, resource.plural

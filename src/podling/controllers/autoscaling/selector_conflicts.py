"""Autoscalers that scale the same pods. Pure.

Upstream: ``hpasControllingPodsUnderSelector`` in ``pkg/controller/podautoscaler/horizontal.go`` and
``pkg/controller/util/selectors``.
"""

from __future__ import annotations

from collections.abc import Iterable

from podling.api.core_v1 import Pod
from podling.client.base import Key
from podling.machinery.selectors import LabelSelector


class SelectorConflicts:
    """The selectors of all autoscalers, as they were last seen."""

    def __init__(self) -> None:
        self._selectors: dict[str, dict[Key, LabelSelector]] = {}

    def put(self, key: Key, selector: LabelSelector, pods: Iterable[Pod]) -> list[Key]:
        """Take in a selector; return the autoscalers that one of its pods belongs to, in order."""
        own = self._selectors.setdefault(key.namespace, {})
        own[key] = selector
        others = {name: each for name, each in own.items() if name != key}
        if not others:
            return [key]
        every = [pod.metadata.labels for pod in pods]
        found = {name for name, each in others.items() if any(each.matches(labels) for labels in every)}
        return sorted({key, *found} if every else [])

    def forget(self, key: Key) -> None:
        """Take out an autoscaler that is gone."""
        own = self._selectors.get(key.namespace, {})
        own.pop(key, None)
        if not own:
            self._selectors.pop(key.namespace, None)

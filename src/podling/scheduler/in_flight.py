"""Changes of a pod, and of the cluster, while an extender or a waiting plugin decides about the pod.

Most decisions are taken in one piece; nothing can happen meanwhile. These are not. As with Kubernetes'
in-flight events, the changes are kept until the outcome is known, so that a rejected pod is not left waiting
for a change that it has missed. Upstream: ``pkg/scheduler/backend/queue/active_queue.go``.
"""

from __future__ import annotations

from podling.scheduler.cache import Cache
from podling.scheduler.framework import ObjectChange
from podling.scheduler.hints import Changes, Profiles, wakes_for_object, wakes_for_own
from podling.scheduler.podfacts import PodFacts
from podling.scheduler.queue import Waiting


class InFlight:
    """A pod in flight. ``latest``: the pod as it is now, None once it is gone or has a node."""

    def __init__(self, facts: PodFacts, cache: Cache, profiles: Profiles) -> None:
        self.latest: PodFacts | None = facts
        self.is_activated = False
        self.changes = Changes(cache, profiles)
        self._objects: list[ObjectChange] = []
        self._cache = cache
        self._profiles = profiles

    def note_object(self, change: ObjectChange) -> None:
        self._objects.append(change)

    def has_missed(self, before: PodFacts, waiting: Waiting) -> bool:
        """Return whether the pod, rejected as ``before``, should be tried again for what has happened."""
        if self.is_activated or self.changes.help_pod(waiting):
            return True
        profile = self._profiles[waiting.facts.spec.scheduler_name]
        plugins = [profile.by_name[name] for name in sorted(waiting.rejected_by)]
        objects = any(
            change.kind in plugin.wakes_on_objects
            and wakes_for_object(plugin, waiting.facts, change, self._cache)
            for plugin in plugins
            for change in self._objects
        )
        rejected = Waiting(before, waiting.since, rejected_by=waiting.rejected_by)
        return objects or wakes_for_own(rejected, waiting.facts, profile, self._cache)

"""Queueing hints: the unschedulable pods that a change in the cluster may help.

Changes are collected between decisions, because many come together: a thousand joining nodes are one check
for each waiting pod. Pods whose rejecting plugins ignore the change are skipped, and pods with the same
result are checked once.

Free capacity wakes as many pods as it suffices for, the first in the queue; when they were tried and capacity
remains (they were bound elsewhere, or could not use it), the next. Otherwise each pod that ends would retry
thousands in vain. A change is dropped once it can help no further pod, so no pod is missed, and a pod that
was rejected after the change is not tried again for it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property, partial

import numpy as np

from podling.api.core_v1 import Node
from podling.scheduler.cache import Cache
from podling.scheduler.changes import own_change
from podling.scheduler.framework import ALL, Aspect, ObjectChange, Plugin, PodChange, PodEvent
from podling.scheduler.labelcolumns import Mask, Rows
from podling.scheduler.podfacts import PodFacts
from podling.scheduler.profile import Profile
from podling.scheduler.queue import Place, SchedulingQueue, Waiting

logger = logging.getLogger(__name__)

_LEAVES_ROOM = PodEvent.DELETED | PodEvent.SHRUNK
_CONCERNS_NODE_ALONE = Aspect.LABELS | Aspect.TAINTS
NO_NODES: Mapping[str, Node] = {}

_POD_EVENTS = {
    PodEvent.DELETED: "AssignedPodDelete",
    PodEvent.ADDED: "AssignedPodAdd",
    PodEvent.SHRUNK: "AssignedPodUpdatePodScaleDown",
    PodEvent.LABELS: "AssignedPodUpdatePodLabel",
}
_NODE_EVENTS = {
    Aspect.ADDED: "NodeAdd",
    Aspect.ALLOCATABLE: "NodeUpdateNodeAllocatable",
    Aspect.LABELS: "NodeUpdateNodeLabel",
    Aspect.TAINTS: "NodeUpdateNodeTaint",
    Aspect.REMOVED: "NodeDelete",
    Aspect.ROOM: "AssignedPodDelete",
}
"""Kubernetes' labels of changes (``ClusterEvent.Label``)."""

Profiles = Mapping[str, Profile]
"""The profiles by the name of their scheduler."""


class Changes:
    """A collected change, kept until every pod that it may help was tried."""

    def __init__(self, cache: Cache, profiles: Profiles) -> None:
        self._cache = cache
        self._profiles = profiles
        self._nodes: dict[str, Aspect] = {}
        self._former: dict[str, Node] = {}
        self._pods: list[PodChange] = []
        self._offers: list[_Offer] = []

    def __bool__(self) -> bool:
        return bool(self._nodes or self._pods or self._offers)

    @property
    def node_names(self) -> frozenset[str]:
        """The nodes on which anything happened since the last offer."""
        return frozenset(self._nodes)

    @property
    def label(self) -> str:
        """Kubernetes' label of what happened since the last offer."""
        return _Offer(self._nodes, self._pods).label

    def node(self, name: str, aspects: Aspect, before: Node | None = None) -> None:
        """A node changed in these aspects. ``before``: the node as it was until then, if it was there."""
        if aspects:
            self._nodes[name] = self._nodes.get(name, Aspect.NONE) | aspects
        if before is not None and aspects & _CONCERNS_NODE_ALONE:
            self._former.setdefault(name, before)

    def pod(self, event: PodEvent, facts: PodFacts, node: str, before: PodFacts | None = None) -> None:
        """Something happened to a pod on ``node``; both what it is and what it was may matter."""
        self._pods.append(PodChange(event, facts, before))
        if event & _LEAVES_ROOM:
            self.node(node, Aspect.ROOM)

    def help_pod(self, waiting: Waiting) -> bool:
        """Return whether a pod that was rejected should be tried again for what was collected."""
        offer = _Offer(self._nodes, self._pods, self._former)
        return offer.helps_pod(waiting, self._cache, self._profiles)

    def offer(self, queue: SchedulingQueue, now: float) -> None:
        """Wake those who should be tried again now."""
        if self._nodes or self._pods:
            self._offers.append(_Offer(self._nodes, self._pods, self._former, queue.rejections))
            self._nodes, self._pods, self._former = {}, [], {}
        self._offers = [
            each for each in self._offers if each.is_open(queue, now, self._cache, self._profiles)
        ]


class _Offer:
    """Some changes, made known to the pods that were rejected before (``opened_at`` rejections)."""

    def __init__(
        self,
        nodes: Mapping[str, Aspect],
        pods: Sequence[PodChange],
        former: Mapping[str, Node] = NO_NODES,
        opened_at: int = 0,
    ) -> None:
        self._pods = pods
        self._former = _Former(former)
        self._events = PodEvent(0)
        for change in pods:
            self._events |= change.event
        self._names: dict[Aspect, list[str]] = {}
        self._aspects = Aspect.NONE
        for name, aspects in nodes.items():
            self._names.setdefault(aspects, []).append(name)
            self._aspects |= aspects
        self._opened_at = opened_at
        self._being_tried: list[str] = []

    @property
    def label(self) -> str:
        """Return Kubernetes' label of the changes; of several kinds, that of the first.

        Changes of pods come first: the capacity they free is a change of the node, too.
        """
        for event, label in _POD_EVENTS.items():
            if event in self._events:
                return label
        return next((label for aspect, label in _NODE_EVENTS.items() if aspect in self._aspects), "")

    def is_open(self, queue: SchedulingQueue, now: float, cache: Cache, profiles: Profiles) -> bool:
        """Wake the next in line, if those woken before were tried; whether there may be more of them."""
        while self._being_tried:
            if queue.place(self._being_tried[-1]) in (Place.ACTIVE, Place.BACKOFF):
                return True
            self._being_tried.pop()
        everyone, in_line = self._helped(queue, self._questions(cache), profiles)
        label = self.label if everyone or in_line else ""
        for uid in everyone:
            queue.wake(uid, now, label)
        for limit, group in in_line:
            group.sort(key=lambda waiting: (waiting.backoff_ends() > now, queue.key(waiting)))
            self._being_tried += [waiting.uid for waiting in group[:limit]]
        for uid in self._being_tried:
            queue.wake(uid, now, label)
        return bool(self._being_tried)

    def helps_pod(self, waiting: Waiting, cache: Cache, profiles: Profiles) -> bool:
        """Return whether one of the plugins that rejected a pod welcomes the changes."""
        plugins = profiles[waiting.facts.spec.scheduler_name].by_name
        interested = [plugins[name] for name in sorted(waiting.rejected_by) if self._interests(plugins[name])]
        questions = self._questions(cache)
        return any(questions.ask(waiting.facts, plugin) for plugin in interested)

    def _helped(
        self, queue: SchedulingQueue, questions: _Questions, profiles: Profiles
    ) -> tuple[list[str], list[tuple[int, list[Waiting]]]]:
        """Return the pods to wake in any case, and groups of which only a limited number can be helped."""
        everyone: list[str] = []
        lines: dict[tuple[Plugin, Hashable], tuple[int, list[Waiting]]] = {}
        for scheduler, names, group in queue.unschedulable_by():
            plugins = profiles[scheduler].by_name
            interested = [plugins[name] for name in sorted(names) if self._interests(plugins[name])]
            if names and not interested:
                continue
            for waiting in group:
                if waiting.rejected_at > self._opened_at:
                    continue
                answers = [(questions.ask(waiting.facts, plugin), plugin) for plugin in interested]
                if not names or any(count == ALL for count, _ in answers):
                    everyone.append(waiting.uid)
                    continue
                for count, plugin in answers:
                    if count:
                        key = (plugin, plugin.same_answer(waiting.facts))
                        lines.setdefault(key, (count, []))[1].append(waiting)
                        break
        return everyone, list(lines.values())

    def _interests(self, plugin: Plugin) -> bool:
        return bool(self._aspects & plugin.wakes_on or self._events & plugin.wakes_on_pods)

    def _questions(self, cache: Cache) -> _Questions:
        found: dict[Aspect, list[int]] = {}
        for aspects, names in self._names.items():
            rows = (cache.row_of(name) for name in names)
            found[aspects] = [row for row in rows if row is not None]
        return _Questions(cache, found, self._pods, self._former)


class _Former:
    """The nodes as they were before they changed, for plugins that judge each node by itself."""

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self._nodes = nodes

    def __bool__(self) -> bool:
        return bool(self._nodes)

    @cached_property
    def _cache(self) -> Cache:
        cache = Cache()
        for node in self._nodes.values():
            cache.set_node(node)
        return cache

    def accepted(self, pod: PodFacts, plugin: Plugin, names: Sequence[str]) -> Mask:
        """Return which of these nodes the plugin would have accepted."""
        rows = [self._cache.row_of(name) for name in names]
        known: Mask = np.array([row is not None for row in rows], np.bool_)
        there = np.array([row for row in rows if row is not None], np.intp)
        left: Mask = np.ones(len(there), np.bool_)
        for each in plugin.filter(pod, self._cache, there) if len(there) else ():
            left &= ~each.where
        accepted: Mask = np.zeros(len(rows), np.bool_)
        accepted[known] = left
        return accepted


class _Questions:
    """Queries plugins for the number of pods that the changes may help now; equal queries run once."""

    def __init__(
        self, cache: Cache, rows: Mapping[Aspect, list[int]], pods: Sequence[PodChange], former: _Former
    ) -> None:
        self._cache = cache
        self._former = former
        self._rows = {aspects: np.array(each, np.intp) for aspects, each in rows.items()}
        self._pods = pods
        self._answers: dict[tuple[Plugin, Hashable], int] = {}

    def ask(self, pod: PodFacts, plugin: Plugin) -> int:
        return _answer(plugin, pod, partial(self._ask_once, pod, plugin))

    def _ask_once(self, pod: PodFacts, plugin: Plugin) -> int:
        key = plugin.same_answer(pod)
        if key is None:
            return self._ask(pod, plugin)
        answer = self._answers.get((plugin, key))
        if answer is None:
            answer = self._answers[plugin, key] = self._ask(pod, plugin)
        return answer

    def _ask(self, pod: PodFacts, plugin: Plugin) -> int:
        for change in self._pods:
            if change.event & plugin.wakes_on_pods and plugin.wakes_for_pod(pod, change, self._cache):
                return ALL
        total = 0
        for aspects, rows in self._rows.items():
            if aspects & plugin.wakes_on & Aspect.REMOVED:
                # A deleted node cannot be checked; its deletion is the whole change.
                return ALL
            if aspects & plugin.wakes_on:
                total += plugin.wakes_for_nodes(pod, self._news(pod, plugin, aspects, rows), self._cache)
        return min(total, ALL)

    def _news(self, pod: PodFacts, plugin: Plugin, aspects: Aspect, rows: Rows) -> Rows:
        """Leave out the nodes that a plugin accepted before they changed: they are no news for the pod."""
        if not self._former or not plugin.judges_nodes_alone or aspects & Aspect.ADDED:
            return rows
        names = [self._cache.name_of(row) for row in rows.tolist()]
        return rows[~self._former.accepted(pod, plugin, names)]


def wakes_for_own(waiting: Waiting, facts: PodFacts, profile: Profile, cache: Cache) -> bool:
    """Return whether a pod that waits for a change should be tried again since it changed itself."""
    change = own_change(waiting.facts, facts)
    if not waiting.rejected_by:
        return bool(change)
    plugins = (profile.by_name[name] for name in sorted(waiting.rejected_by))
    return any(
        plugin.wakes_on_own & change
        and _answer(plugin, facts, partial(plugin.wakes_for_own, waiting.facts, facts, change, cache))
        for plugin in plugins
    )


def wakes_for_object(plugin: Plugin, pod: PodFacts, change: ObjectChange, cache: Cache) -> bool:
    """Return whether a pod that the plugin rejected should be tried again after a change of an object."""
    return bool(_answer(plugin, pod, partial(plugin.wakes_for_object, pod, change, cache)))


def _answer(plugin: Plugin, pod: PodFacts, ask: Callable[[], int]) -> int:
    """Return the number of pods that a change may help, as a plugin says.

    Where it fails to answer the pod is tried, so that it cannot be forgotten.
    """
    try:
        return ask()
    except Exception:
        logger.exception("%s failed to judge a change for %s/%s", plugin.name, pod.namespace, pod.name)
        return ALL

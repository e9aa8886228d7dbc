"""One HTTP extender: its verbs, and the pods that it is interested in.

Upstream: ``pkg/scheduler/extender.go``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from podling.api.core_v1 import Container
from podling.scheduler.cache import Cache
from podling.scheduler.configuration.types import Extender
from podling.scheduler.extenders import wire
from podling.scheduler.framework import SCORE_MAX
from podling.scheduler.podfacts import PodFacts
from podling.scheduler.preemption import Victims

T = TypeVar("T")


class ExtenderFailed(Exception):
    """An extender did not answer, or not what it should; the text is Kubernetes'.

    ``is_doubtful``: it may have done what it was to do.
    """

    def __init__(self, text: str, *, is_doubtful: bool = False) -> None:
        super().__init__(text)
        self.is_doubtful = is_doubtful


Send = Callable[[str, bytes], Awaitable[tuple[int, bytes]]]
"""Sends a body to a URL; returns code and body of the response. Raises ``ExtenderFailed``."""


class HttpExtender:
    """An extender.

    Args:
        send: the connection to it.
    """

    def __init__(self, config: Extender, send: Send) -> None:
        self.name = config.url_prefix
        self.is_ignorable = config.ignorable
        self.filters = bool(config.filter_verb)
        self.prioritizes = bool(config.prioritize_verb)
        self.binds = bool(config.bind_verb)
        self.preempts = bool(config.preempt_verb)
        self._config = config
        self._managed = frozenset(each.name for each in config.managed_resources)
        self._send = send

    def is_interested(self, pod: PodFacts) -> bool:
        """Return whether the pod names a resource that the extender manages; if it manages none, True."""
        if not self._managed:
            return True
        containers: tuple[Container, ...] = (*pod.spec.containers, *pod.spec.init_containers)
        return any(
            not self._managed.isdisjoint(each.resources.requests)
            or not self._managed.isdisjoint(each.resources.limits)
            for each in containers
        )

    async def filter(self, pod: PodFacts, names: Sequence[str], cache: Cache) -> wire.FilterResult:
        """Return the accepted ones of these nodes, in ``names``, and the reasons for the others.

        Raises ``ExtenderFailed``.
        """
        body = await self._call(self._config.filter_verb, self._nodes_request(pod, names, cache))
        result = self._read(wire.filter_result, body)
        if result.error:
            raise ExtenderFailed(result.error)
        accepted: Iterable[str] = result.nodes or ()
        if self._config.node_cache_capable and result.names is not None:
            accepted = result.names
        known = frozenset(names)
        for name in accepted:
            if name not in known:
                raise ExtenderFailed(
                    f'extender "{self.name}" claims a filtered node "{name}" which is not found in the input '
                    "node list"
                )
        return wire.FilterResult(None, tuple(accepted), result.failed, result.unresolvable, "")

    async def prioritize(self, pod: PodFacts, names: Sequence[str], cache: Cache) -> dict[str, int]:
        """Return the weighted scores of nodes, on the scale of the plugins. Raises ``ExtenderFailed``."""
        body = await self._call(self._config.prioritize_verb, self._nodes_request(pod, names, cache))
        factor = self._config.weight * (SCORE_MAX // wire.PRIORITY_MAX)
        return {name: score * factor for name, score in self._read(wire.priorities, body).items()}

    async def bind(self, pod: PodFacts, node: str) -> None:
        """Let the extender bind a pod. Raises ``ExtenderFailed``."""
        body = await self._call(self._config.bind_verb, wire.binding_request(pod, node))
        error = self._read(wire.binding_error, body)
        if error:
            raise ExtenderFailed(error)

    async def process_preemption(
        self, pod: PodFacts, candidates: Mapping[str, Victims], cache: Cache
    ) -> dict[str, Victims]:
        """Return the candidates that the extender leaves, with its victims. Raises ``ExtenderFailed``."""
        by_name = self._config.node_cache_capable
        request = wire.preemption_request(pod, candidates.values(), by_name=by_name)
        body = await self._call(self._config.preempt_verb, request)
        found = self._read(wire.preemption_result, body)
        return {node: self._victims(node, victims, cache) for node, victims in found.items()}

    def _victims(self, node: str, found: wire.MetaVictims, cache: Cache) -> Victims:
        row = cache.row_of(node)
        if row is None:
            raise ExtenderFailed(f'nodeinfo not found for node name "{node}"')
        there = {pod.uid: pod for pod in cache.pods_on(row)}
        for uid in found.uids:
            if uid not in there:
                raise ExtenderFailed(
                    f"extender: {self.name} claims to preempt pod (UID: {uid}) on node: {node}, but the "
                    "pod is not found on that node"
                )
        return Victims(node, tuple(there[uid] for uid in found.uids), found.violations)

    def _nodes_request(self, pod: PodFacts, names: Sequence[str], cache: Cache) -> bytes:
        if self._config.node_cache_capable:
            return wire.nodes_request(pod, None, names)
        nodes = [node for node in map(cache.node, names) if node is not None]
        return wire.nodes_request(pod, nodes, None)

    async def _call(self, verb: str, body: bytes) -> bytes:
        url = f"{self.name.rstrip('/')}/{verb}"
        code, answer = await self._send(url, body)
        if code != 200:
            raise ExtenderFailed(
                f"failed {verb} with extender at URL {url}, code {code}", is_doubtful=code >= 500
            )
        return answer

    @staticmethod
    def _read(reader: Callable[[bytes], T], body: bytes) -> T:
        try:
            return reader(body)
        except wire.MalformedAnswer as error:
            raise ExtenderFailed(str(error), is_doubtful=True) from None

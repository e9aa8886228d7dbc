"""Serves ``metrics.k8s.io/v1beta1`` in the API server, as an aggregated API server would.

Upstream: metrics-server ``pkg/api``, whose answers and errors these are.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from podling import clock, turns
from podling.api.core_v1 import Node, Pod
from podling.api.meta_v1 import ListMeta
from podling.apiserver.admission.base import Objects
from podling.apiserver.aggregation.local_apis import Answer
from podling.apiserver.http import discovery
from podling.apiserver.http.negotiation import Form, negotiate
from podling.apiserver.resource_metrics.collector import Collector, Scrape
from podling.apiserver.resource_metrics.objects import (
    NODES,
    PODS,
    Metrics,
    node_metrics,
    pod_metrics,
    table,
)
from podling.client.base import ApiObject
from podling.machinery import errors, selectors
from podling.machinery.encoding import codec
from podling.machinery.resource import Resource
from podling.machinery.resource_metrics import GROUP, VERSION, NodeMetricsList, PodMetricsList
from podling.machinery.selectors import SelectorError
from podling.machinery.tables import check_include_object

T = TypeVar("T", bound=ApiObject)
AT_ONCE = 500
"""Objects that are made without waiting for a turn of the loop."""
RUNNING = "Running"


class ResourceMetrics:
    """``LocalApi`` over the objects of a store and what ``scrape`` reads. ``run`` it while it serves."""

    group, version = GROUP, VERSION
    resources: tuple[Resource, ...] = (NODES, PODS)

    def __init__(self, objects: Objects, scrape: Scrape) -> None:
        self._objects = objects
        self._collector = Collector(partial(objects.list, Node), scrape)

    async def run(self) -> None:
        await self._collector.run()

    async def answer(self, method: str, path: str, query: Mapping[str, str], accept: str) -> Answer:
        """Return the answer to a request for ``path``. Raises ``ApiError``."""
        namespace, parts = _split(path)
        if method != "GET":
            raise errors.no_such_method()
        if parts == []:
            listed = discovery.resources(GROUP, VERSION, self.resources)
            return Answer(codec.encode(listed))
        match (namespace, parts):
            case ("", ["nodes", *name]) if len(name) < 2:
                return await self._nodes("".join(name), query, accept)
            case (_, ["pods"]):
                return await self._pods(namespace, "", query, accept)
            case (_, ["pods", name]) if namespace:
                return await self._pods(namespace, name, query, accept)
        raise errors.no_such_resource()

    async def _nodes(self, name: str, query: Mapping[str, str], accept: str) -> Answer:
        if name:
            node = self._objects.get(Node, name)
            if node is None:
                raise errors.not_found("nodes", "", name)
            samples = await self._collector.fresh()
            one = node_metrics(node, samples.get(name), clock.now())
            if one is None:
                raise errors.not_found("nodes", GROUP, name)
            return _shown(one, (one,), query, accept)
        nodes = _selected(await self._objects.list(Node), query)
        samples, now = await self._collector.fresh(), clock.now()
        found = [node_metrics(each, samples.get(each.metadata.name or ""), now) for each in nodes]
        items = tuple(each for each in found if each is not None)
        return _shown(NodeMetricsList(metadata=ListMeta(), items=items), items, query, accept)

    async def _pods(self, namespace: str, name: str, query: Mapping[str, str], accept: str) -> Answer:
        if name:
            pod = self._objects.get(Pod, name, namespace)
            if pod is None:
                raise errors.not_found("pods", "", name)
            samples = await self._collector.fresh()
            one = pod_metrics(pod, samples.get(pod.spec.node_name or ""), clock.now())
            if one is None:
                raise errors.not_found("pods", GROUP, f"{namespace}/{name}")
            return _shown(one, (one,), query, accept)
        pods = _selected(await self._objects.list(Pod, namespace), query)
        samples, now = await self._collector.fresh(), clock.now()
        items = []
        async for pod in _in_turns(pods):
            if pod.status.phase == RUNNING:
                found = pod_metrics(pod, samples.get(pod.spec.node_name or ""), now)
                if found is not None:
                    items.append(found)
        return _shown(PodMetricsList(metadata=ListMeta(), items=tuple(items)), items, query, accept)


def _split(path: str) -> tuple[str, list[str]]:
    """Return namespace and the rest of a path of the API."""
    parts = [part for part in path.split("/")[4:] if part]
    if parts[:1] == ["namespaces"] and len(parts) > 2:
        return parts[1], parts[2:]
    return "", parts


async def _in_turns(pods: Sequence[Pod]) -> AsyncIterator[Pod]:
    for place, pod in enumerate(pods):
        if place and place % AT_ONCE == 0:
            await turns.take()
        yield pod


def _selected(objects: Iterable[T], query: Mapping[str, str]) -> list[T]:
    """Return what the selectors of a list choose, in the order of names. Raises 400."""
    try:
        labels = selectors.parse_label_selector(query.get("labelSelector", ""))
        fields = selectors.parse_field_selector(query.get("fieldSelector", ""))
    except SelectorError as error:
        raise errors.bad_request(str(error)) from None
    for name in fields.fields:
        if name not in ("metadata.name", "metadata.namespace"):
            raise errors.bad_request(f"field label not supported: {name}")
    found = [each for each in objects if labels.matches(each.metadata.labels)]
    if not fields.empty:
        found = [each for each in found if fields.matches(_fields(each))]
    return sorted(found, key=lambda each: (each.metadata.namespace or "", each.metadata.name or ""))


def _fields(obj: ApiObject) -> dict[str, str]:
    metadata = obj.metadata
    return {"metadata.name": metadata.name or "", "metadata.namespace": metadata.namespace or ""}


def _shown(whole: object, items: Sequence[Metrics], query: Mapping[str, str], accept: str) -> Answer:
    """Return an object or a list in the form that the client accepts. Raises 406."""
    wanted = negotiate(accept)
    if wanted.form is Form.TABLE:
        include = check_include_object(query.get("includeObject", ""))
        return Answer(codec.encode(table(items, wanted.version, include)), wanted.media_type)
    if wanted.form is not Form.OBJECT:
        raise errors.not_acceptable(("application/json",))
    return Answer(codec.encode(whole), wanted.media_type)

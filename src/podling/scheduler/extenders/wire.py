"""The messages between the scheduler and its extenders, as JSON. Pure.

Requests have Go's field names, as upstream's types have no JSON tags. Responses are read without regard to
case, as Go reads them. Upstream: ``k8s.io/kube-scheduler/extender/v1/types.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from podling.api.core_v1 import Node
from podling.machinery.encoding import codec
from podling.scheduler.podfacts import PodFacts
from podling.scheduler.preemption import Victims

PRIORITY_MAX = 10
"""The highest score of an extender (``MaxExtenderPriority``)."""


class MalformedAnswer(ValueError):
    """A response is not what the protocol says; the text is the reason."""


class FilterResult(Struct, frozen=True):
    """The nodes that an extender accepts, None if it names none, and the reasons for the others."""

    nodes: tuple[str, ...] | None
    names: tuple[str, ...] | None
    failed: Mapping[str, str]
    unresolvable: Mapping[str, str]
    error: str


class MetaVictims(Struct, frozen=True):
    """The UIDs of the victims on one node."""

    uids: tuple[str, ...]
    violations: int


def nodes_request(pod: PodFacts, nodes: Sequence[Node] | None, names: Sequence[str] | None) -> bytes:
    """Return the body of a filter or prioritize request (``ExtenderArgs``): nodes whole or by name."""
    whole = None if nodes is None else {"metadata": {}, "items": [_raw(node) for node in nodes]}
    return msgspec.json.encode({"Pod": _raw(pod.pod), "Nodes": whole, "NodeNames": names})


def binding_request(pod: PodFacts, node: str) -> bytes:
    """Return the body of a bind request (``ExtenderBindingArgs``)."""
    named = {"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid, "Node": node}
    return msgspec.json.encode(named)


def preemption_request(pod: PodFacts, candidates: Iterable[Victims], *, by_name: bool) -> bytes:
    """Return the body of a preempt request (``ExtenderPreemptionArgs``): victims whole or by UID."""
    found = {each.node: _victims(each, by_name=by_name) for each in candidates}
    return msgspec.json.encode(
        {
            "Pod": _raw(pod.pod),
            "NodeNameToVictims": None if by_name else found,
            "NodeNameToMetaVictims": found if by_name else None,
        }
    )


def filter_result(body: bytes) -> FilterResult:
    """Read an ``ExtenderFilterResult``. Raises ``MalformedAnswer``."""
    plain = _object(_decoded(body))
    nodes, names = plain.get("nodes"), plain.get("nodenames")
    return FilterResult(
        None if nodes is None else tuple(_node_name(each) for each in _list(_object(nodes).get("items"))),
        None if names is None else tuple(_text(each) for each in _list(names)),
        _texts(plain.get("failednodes")),
        _texts(plain.get("failedandunresolvablenodes")),
        _text(plain.get("error") or ""),
    )


def priorities(body: bytes) -> dict[str, int]:
    """Read a ``HostPriorityList``: the sum of the scores of each node. Raises ``MalformedAnswer``."""
    found: dict[str, int] = {}
    for each in _list(_decoded(body)):
        plain = _object(each)
        host, score = _text(plain.get("host") or ""), plain.get("score") or 0
        if not isinstance(score, int):
            raise MalformedAnswer("json: cannot unmarshal a score that is no integer")
        found[host] = found.get(host, 0) + score
    return found


def binding_error(body: bytes) -> str:
    """Read an ``ExtenderBindingResult``: the error, empty if there is none. Raises ``MalformedAnswer``."""
    return _text(_object(_decoded(body)).get("error") or "")


def preemption_result(body: bytes) -> dict[str, MetaVictims]:
    """Read an ``ExtenderPreemptionResult``. Raises ``MalformedAnswer``."""
    found = _object(_decoded(body), keep_case=True)
    nodes = next((value for key, value in found.items() if key.lower() == "nodenametometavictims"), None)
    victims: dict[str, MetaVictims] = {}
    for node, each in _object(nodes or {}, keep_case=True).items():
        plain = _object(each or {})
        uids = tuple(_text(_object(pod).get("uid") or "") for pod in _list(plain.get("pods")))
        victims[node] = MetaVictims(uids, int(plain.get("numpdbviolations") or 0))
    return victims


def _victims(found: Victims, *, by_name: bool) -> dict[str, Any]:
    pods = [{"UID": pod.uid} if by_name else _raw(pod.pod) for pod in found.pods]
    return {"Pods": pods, "NumPDBViolations": found.violations}


def _raw(obj: Any) -> msgspec.Raw:
    return msgspec.Raw(codec.encode(obj))


def _decoded(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise MalformedAnswer(f"invalid JSON: {error}") from None


def _object(value: Any, *, keep_case: bool = False) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise MalformedAnswer("json: cannot unmarshal: an object is expected")
    return value if keep_case else {key.lower(): each for key, each in value.items()}


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list | None):
        raise MalformedAnswer("json: cannot unmarshal: an array is expected")
    return value or []


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise MalformedAnswer("json: cannot unmarshal: a string is expected")
    return value


def _texts(value: Any) -> dict[str, str]:
    return {key: _text(each) for key, each in _object(value, keep_case=True).items()}


def _node_name(value: Any) -> str:
    return _text(_object(_object(value).get("metadata")).get("name") or "")

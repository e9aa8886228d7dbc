"""A scenario from an audit log of an API server (``audit.k8s.io/v1``, JSON lines).

The requests of people and of their tools become actions at their moments. Requests of the control plane, of
kubelets and of controllers are not taken over: the simulated cluster makes its own. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct

from podling.sim.importing.cleaning import cleaned
from podling.sim.importing.from_objects import DEFAULT_NODES, NO_NODES, ORDER, manifest_problem
from podling.sim.importing.node_groups import NodeFacts, facts_of, groups
from podling.sim.importing.sources import Imported, Unreadable

Plain = dict[str, Any]

API = "audit.k8s.io/"
COMPONENTS = ("system:node:", "system:kube-", "system:apiserver", "system:serviceaccount:kube-system:")
AFTER = timedelta(minutes=10)
"""The time that the scenario lasts after the last action."""
NO_BODY = "requests without their objects; log them at level Request or RequestResponse"


class _Request(Struct, frozen=True):
    """One request of the log that succeeded."""

    at: datetime
    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str
    sent: Plain
    """The request's object, a patch or none."""
    stored: Plain
    """The response's object, or none."""


def scenario_from_audit(lines: Iterable[tuple[int, Plain]], name: str) -> Imported:
    """Return the scenario of a log. Raises ``Unreadable``.

    Args:
        lines: the objects of the log and the numbers of their lines.
        name: the log's name, for errors.
    """
    requests: list[_Request] = []
    nodes: dict[str, NodeFacts] = {}
    left = Counter[str]()
    for number, event in lines:
        request = _read(event, number, name)
        if request is None:
            continue
        if request.resource == "nodes" and request.verb == "create" and (request.sent or request.stored):
            nodes[request.name] = facts_of(request.stored or request.sent)
        elif not _is_component(event):
            requests.append(request)
    requests.sort(key=lambda each: each.at)
    actions: list[Plain] = []
    begin = requests[0].at if requests else None
    for request in requests:
        action = _action(request, left)
        if action is not None and begin is not None:
            at = round((request.at - begin).total_seconds(), 3)
            actions.append({"at": at, "name": _name(request), **action})
    end = (requests[-1].at - requests[0].at if requests else timedelta()) + AFTER
    notes = [f"left out: {count} {what}" for what, count in sorted(left.items())]
    if not nodes:
        notes.append(NO_NODES)
    scenario: Plain = {
        "description": "The requests of an audit log.",
        **({} if begin is None else {"begin": begin}),
        "until": round(end.total_seconds()),
        "nodes": groups(nodes.items()) if nodes else DEFAULT_NODES,
        "actions": actions,
    }
    return Imported(scenario, tuple(notes))


def _read(event: Plain, number: int, name: str) -> _Request | None:
    """Return the request of a line; None for one that failed, changed nothing or has not ended."""
    if not str(event.get("apiVersion", "")).startswith(API):
        raise Unreadable(name, number, 1, "no line of an audit log: apiVersion is not audit.k8s.io/v1")
    if event.get("stage") != "ResponseComplete":
        return None
    about = event.get("objectRef") or {}
    code = (event.get("responseStatus") or {}).get("code", 200)
    verb = event.get("verb", "")
    if not 200 <= code < 300 or verb not in ("create", "update", "patch", "delete") or not about:
        return None
    try:
        at = datetime.fromisoformat(str(event.get("requestReceivedTimestamp")))
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
    except ValueError:
        raise Unreadable(name, number, 1, "requestReceivedTimestamp is no moment") from None
    sent, stored = _object(event.get("requestObject")), _object(event.get("responseObject"))
    found = about.get("name") or ((stored or sent).get("metadata") or {}).get("name") or ""
    return _Request(
        at,
        verb,
        str(about.get("resource", "")),
        str(about.get("subresource", "")),
        str(about.get("namespace", "")),
        str(found),
        sent,
        stored,
    )


def _object(found: Any) -> Plain:
    return found if isinstance(found, dict) and found.get("kind") != "Status" else {}


def _is_component(event: Plain) -> bool:
    user = str((event.get("user") or {}).get("username", ""))
    return user.startswith(COMPONENTS)


def _action(request: _Request, left: Counter[str]) -> Plain | None:
    """Return the action of a request; None if it has none, which is counted."""
    if request.resource == "nodes":
        return _node_action(request, left)
    if request.subresource == "eviction":
        return {"delete": {"target": _target("Pod", request)}}
    if request.subresource == "scale":
        replicas = ((request.stored or request.sent).get("spec") or {}).get("replicas")
        kind = _KINDS.get(request.resource)
        if kind is None or replicas is None:
            left[NO_BODY] += 1
            return None
        return {"scale": {"target": _target(kind, request), "replicas": replicas}}
    if request.subresource:
        left[f"requests to {request.resource}/{request.subresource}"] += 1
        return None
    kind = _KINDS.get(request.resource)
    if kind is None:
        left[f"requests to {request.resource}: scenarios do not take this kind"] += 1
        return None
    if request.verb == "delete":
        return {"delete": {"target": _target(kind, request)}}
    return _apply(request, left)


def _apply(request: _Request, left: Counter[str]) -> Plain | None:
    whole = request.stored or (request.sent if request.verb != "patch" else {})
    if not whole.get("kind") or not request.name:
        left[NO_BODY] += 1
        return None
    plain = cleaned({**whole, "metadata": {**(whole.get("metadata") or {}), "name": request.name}})
    if request.namespace:
        plain["metadata"]["namespace"] = request.namespace
    if problem := manifest_problem(plain):
        left[f"{plain['kind']} that cannot be read here: {problem}"] += 1
        return None
    return {"apply": {"objects": [plain]}}


def _node_action(request: _Request, left: Counter[str]) -> Plain | None:
    """Return what a request did to a node: cordon or uncordon."""
    spec = (request.sent or {}).get("spec") or {}
    if request.verb == "patch" and "unschedulable" in spec:
        verb = "cordon" if spec["unschedulable"] else "uncordon"
        left["names of nodes: the simulated ones have others, so that one is drawn"] += 1
        return {verb: {"count": 1}}
    left[f"requests that {request.verb} nodes"] += 1
    return None


def _target(kind: str, request: _Request) -> Plain:
    target = {"kind": kind, "name": request.name}
    return target | ({"namespace": request.namespace} if request.namespace else {})


def _name(request: _Request) -> str:
    place = f"{request.namespace}/" if request.namespace else ""
    sub = f"/{request.subresource}" if request.subresource else ""
    return f"{request.verb} {request.resource}{sub} {place}{request.name}"


def _plural(kind: str) -> str:
    return f"{kind.lower()}es" if kind.endswith("s") else f"{kind.lower()}s"


_KINDS = {_plural(kind): kind for kind in ORDER}

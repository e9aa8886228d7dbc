"""The answers of a scenario's webhook or aggregated API, as its script says. Pure.

Upstream: ``k8s.io/api/admission/v1``, ``apiextensions-apiserver`` (``ConversionReview``), ``metav1`` (the
list of an API's resources).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from podling.apiserver.backends.local_servers import ServerAnswer, ServerRequest
from podling.sim.servers.server_scripts import Api, Review, Server

VARIABLES = ("request", "object", "oldObject")
"""The variables of ``where``."""
VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
Plain = dict[str, Any]
Fits = Callable[[str, Mapping[str, Any]], bool]
"""Returns whether an expression is true of values."""


def answer_of(server: Server, request: ServerRequest, fits: Fits) -> ServerAnswer:
    """Return a server's answer to a request."""
    path = request.path.partition("?")[0]
    if request.method == "POST" and (review := _review_in(request.body)) is not None:
        kind = review.get("kind")
        if kind == "AdmissionReview":
            return _json({**_head(review), "response": _admission(server, review["request"], fits)})
        if kind == "ConversionReview":
            return _json({**_head(review), "response": _conversion(review["request"])})
    found = _responses(server, request.method, path)
    if found is None:
        return _json(_status(404, "NotFound", "the server could not find the requested resource"), 404)
    return _json(found)


def _review_in(body: bytes) -> Plain | None:
    """Return the review in a request's body; None for another one."""
    try:
        found = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return None
    return found if isinstance(found, dict) and isinstance(found.get("request"), dict) else None


def _head(review: Plain) -> Plain:
    return {"apiVersion": review.get("apiVersion"), "kind": review["kind"]}


def _admission(server: Server, request: Plain, fits: Fits) -> Plain:
    values = {
        "request": request,
        "object": request.get("object"),
        "oldObject": request.get("oldObject"),
    }
    rule = next((each for each in server.reviews if not each.where or fits(each.where, values)), Review())
    response: Plain = {"uid": request.get("uid"), "allowed": rule.allowed}
    if rule.warnings:
        response["warnings"] = list(rule.warnings)
    if not rule.allowed:
        response["status"] = {"code": rule.code, "message": rule.message}
    elif rule.patch and request.get("object") is not None:
        encoded = base64.b64encode(msgspec.json.encode(rule.patch)).decode()
        response |= {"patchType": "JSONPatch", "patch": encoded}
    return response


def _conversion(request: Plain) -> Plain:
    version = request.get("desiredAPIVersion")
    objects = [{**each, "apiVersion": version} for each in request.get("objects") or ()]
    return {"uid": request.get("uid"), "convertedObjects": objects, "result": {"status": "Success"}}


def _responses(server: Server, method: str, path: str) -> Any:
    """Return the answer to a request of an API; None without one."""
    if method == "GET":
        for pattern, body in server.responses.items():
            if fnmatchcase(path, pattern):
                return body
    for api in server.apis:
        root = f"/apis/{api.group}/{api.version}"
        if path == root and method == "GET":
            return _resource_list(api)
        inside = path.removeprefix(f"{root}/").split("/")
        if inside[0] == "namespaces" and len(inside) > 2:
            inside = inside[2:]
        resource = next(
            (each for each in api.resources if path.startswith(root) and [each.name] == inside), None
        )
        if resource is None:
            continue
        if method == "DELETE":
            return _status(200, "", "", "Success")
        if method == "GET":
            kind = f"{resource.kind}List"
            metadata = {"resourceVersion": "1"}
            version = f"{api.group}/{api.version}"
            return {"apiVersion": version, "kind": kind, "metadata": metadata, "items": []}
    return None


def _resource_list(api: Api) -> Plain:
    resources = [
        {
            "name": each.name,
            "singularName": each.kind.lower(),
            "namespaced": each.namespaced,
            "kind": each.kind,
            "verbs": list(VERBS),
        }
        for each in api.resources
    ]
    version = f"{api.group}/{api.version}"
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": resources}


def _status(code: int, reason: str, message: str, status: str = "Failure") -> Plain:
    found = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": status, "code": code}
    more = {"reason": reason, "message": message}
    return {**found, **{name: value for name, value in more.items() if value}}


def _json(body: Any, status: int = 200) -> ServerAnswer:
    return ServerAnswer(status, msgspec.json.encode(body))

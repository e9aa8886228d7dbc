"""What a request to somebody else's group asks for, as authorisation knows it. Pure.

What the resource is called elsewhere is not known here; its place in the path is.
Source: ``k8s.io/apiserver/pkg/endpoints/request/requestinfo.go``.
"""

from __future__ import annotations

from podling.apiserver.rbac import Attributes

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}


def attributes_of(method: str, path: str, *, watch: bool) -> Attributes:
    """The attributes of a request below ``/apis/{group}/{version}``."""
    parts = [part for part in path.split("/") if part]
    group, rest = parts[1], parts[3:]
    if not rest:
        return Attributes("get" if method in ("GET", "HEAD") else method.lower(), path=path)
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    resource, name, subresource = (*rest, "", "", "")[:3]
    return Attributes(_verb(method, name, watch=watch), group, resource, subresource, namespace, name)


def _verb(method: str, name: str, *, watch: bool) -> str:
    if method in ("GET", "HEAD"):
        return "watch" if watch else "get" if name else "list"
    if method == "DELETE":
        return "delete" if name else "deletecollection"
    return _VERBS.get(method, method.lower())

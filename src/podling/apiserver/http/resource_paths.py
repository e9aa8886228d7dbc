"""Resource paths: from a request's method and path to resource, namespace, name and verb. Pure.

    /api/v1/namespaces/{namespace}/pods/{name}/{subresource}
    /apis/{group}/{version}/...

All other paths are non-resource paths: discovery, health, metrics. The verbs are those of authorisation
(``get``, ``list``, ``watch``, ``create``, ``update``, ``patch``, ``delete``, ``deletecollection``).
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from podling.client.requests import Target
from podling.machinery import errors
from podling.machinery.encoding.custom import CustomResource
from podling.machinery.scheme import Resource, by_path
from podling.machinery.text_cache import cached_by_text

NAMESPACE_SUBRESOURCES = ("status", "finalize")
CREATES = ("exec", "attach", "portforward")
"""Subresources that need the verb ``create`` for every HTTP method, also for the GET of an upgrade."""
CONNECTS = (*CREATES, "proxy")
"""Subresources that open a connection. The verb of a proxied request is that of its HTTP method."""


class Parsed(Struct, frozen=True):
    """A path that names a resource. ``tail`` is what follows a proxy subresource."""

    target: Target
    tail: str = ""
    watch: bool = False
    """The path is of the old form ``/api/v1/watch/...``."""


Find = Callable[[str, str, str], Resource | None]
"""The resource of a group, version and plural name."""


@cached_by_text(8192)
def parse_path(path: str) -> Parsed | None:
    """Return the parts of ``path``; None if it is not the path of a built-in resource."""
    return find_path(path, by_path)


def find_path(path: str, find: Find) -> Parsed | None:
    """Return the parts of ``path``, with the resource looked up by ``find``."""
    parts = path.split("/")
    if parts[0] or len(parts) < 4:
        return None
    if parts[1] == "api":
        group, version, rest = "", parts[2], parts[3:]
    elif parts[1] == "apis" and len(parts) > 4:
        group, version, rest = parts[2], parts[3], parts[4:]
    else:
        return None
    if rest[-1] == "":
        rest.pop()
    watch = bool(rest) and rest[0] == "watch"
    if watch:
        rest = rest[1:]
    namespace, rest = _namespace(group, rest)
    if not rest or not all(rest[:3]):
        return None
    resource = find(group, version, rest[0])
    if resource is None or (bool(namespace) and not resource.namespaced):
        return None
    return _parsed(resource, namespace, rest[1:], watch)


def _namespace(group: str, rest: list[str]) -> tuple[str, list[str]]:
    """Split off ``namespaces/{namespace}``, unless the path names the namespace itself."""
    if len(rest) < 3 or rest[0] != "namespaces" or (not group and rest[2] in NAMESPACE_SUBRESOURCES):
        return "", rest
    return (rest[1], rest[2:]) if rest[1] else ("", [])


def _parsed(resource: Resource, namespace: str, rest: list[str], watch: bool) -> Parsed | None:
    name = rest[0] if rest else ""
    subresource = rest[1] if len(rest) > 1 else ""
    if subresource and subresource not in resource.subresources:
        return None
    if len(rest) > 2 and subresource != "proxy":
        return None
    if name and resource.namespaced and not namespace:
        return None
    return Parsed(Target(resource, namespace, name, subresource), "/".join(rest[2:]), watch)


def verb_of(method: str, target: Target, *, watch: bool) -> str:
    """Return the verb of a request. Raises 405 for what the resource does not offer.

    Built-in resources have no route for HEAD but where it is passed on.
    """
    verb = _verb(method, target, watch=watch)
    resource = target.resource
    offered = resource.subresources[target.subresource].verbs if target.subresource else resource.verbs
    if target.subresource in CREATES and verb in ("get", "create"):
        return "create"
    if target.subresource in CONNECTS and verb in offered:
        return verb  # HEAD is passed on as well
    if target.subresource == "proxy" and method == "OPTIONS":
        return ""  # passed on too, but only to clients that may use every verb
    if resource.namespaced and not target.namespace and verb in ("create", "deletecollection"):
        verb = ""  # across all namespaces objects are only read
    custom = isinstance(resource, CustomResource)
    if verb not in offered or (method == "HEAD" and not custom):
        if custom:
            raise errors.method_not_allowed(resource.plural, resource.group, verb or method.lower())
        raise errors.no_such_method()
    return verb


def _verb(method: str, target: Target, *, watch: bool) -> str:
    if method in ("GET", "HEAD"):
        if watch and not target.subresource:
            return "watch"
        return "get" if target.name else "list"
    if method == "POST":
        return "create" if target.subresource or not target.name else ""
    if not target.name:
        return "deletecollection" if method == "DELETE" else ""
    return {"PUT": "update", "PATCH": "patch", "DELETE": "delete"}.get(method, "")

"""Conditions on single objects, as ``kubectl wait --for`` takes them: parsing, and waiting on a watch.

``delete``, ``create``, ``condition=Ready``, ``condition=Ready=False``, ``jsonpath={.status.phase}=Running``,
``jsonpath={.status.loadBalancer}``. Source of the rules: ``k8s.io/kubectl/pkg/cmd/wait``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct, json

from podling.apiserver.customresources.json_paths import JsonPath, JsonPathError
from podling.apiserver.registry.registry import Registry
from podling.client.base import WatchEventType
from podling.client.requests import ListOptions, Target, User
from podling.machinery import errors
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling.machinery.resource import Resource

Holds = Callable[[Any], bool]
"""Returns whether a condition holds for an object as plain data; None for one that is absent."""


class Awaited(Struct, frozen=True):
    """An object, and the condition that is to hold for it."""

    resource: str
    """The name of its resource, as kubectl takes it: ``pod``, ``deploy``, ``widgets.example.com``."""
    name: str
    wanted: str
    namespace: str = ""


def parse(text: str, namespace: str) -> Awaited:
    """Return the condition ``TYPE/NAME FOR``; without FOR the object is to exist. Raises ``ValueError``."""
    named, _, wanted = text.strip().partition(" ")
    resource, slash, name = named.partition("/")
    if not (slash and resource and name) or "/" in name:
        raise ValueError(f"{text!r} does not name an object: TYPE/NAME FOR, as in 'pod/web condition=Ready'")
    wanted = wanted.strip().removeprefix("--for=") or "create"
    predicate(wanted)
    return Awaited(resource, name, wanted, namespace)


def predicate(wanted: str) -> Holds:
    """Return the test that ``--for`` means. Raises ``ValueError`` for text that means none."""
    if wanted in ("delete", "create"):
        return lambda plain: (plain is None) == (wanted == "delete")
    kind, _, rest = wanted.partition("=")
    if kind == "condition" and rest:
        name, _, value = rest.partition("=")
        return lambda plain: _condition_holds(plain, name.lower(), (value or "true").lower())
    if kind == "jsonpath" and rest:
        return _path_predicate(rest)
    raise ValueError(f"unrecognized condition: {wanted!r}")


def resource_named(name: str, resources: Iterable[Resource]) -> Resource | None:
    """Return the resource that kubectl would find under ``name``: plural, singular, short, with group."""
    wanted, _, group = name.lower().partition(".")
    for each in resources:
        names = (each.plural, each.singular, each.kind.lower(), *each.short_names)
        groups = ("", each.group, f"{each.version}.{each.group}")
        if wanted in names and group in groups and "watch" in each.verbs:
            return each
    return None


async def until_met(
    registry: Registry, resource: Resource, awaited: Awaited, user: User, holds: Holds | None = None
) -> None:
    """Return when the condition holds, or ``holds`` in its place.

    Raises ``ApiError`` where ``user`` may not read the object.
    """
    holds = holds or predicate(awaited.wanted)
    namespace = awaited.namespace if resource.namespaced else ""
    options = ListOptions(field_selector=f"metadata.name={awaited.name}")
    while not holds(await _present(registry, Target(resource, namespace, awaited.name), user)):
        watch = await registry.open_watch(Target(resource, namespace), user, options)
        try:
            async for change in watch:
                if change.type is WatchEventType.BOOKMARK:
                    continue
                gone = change.type is WatchEventType.DELETED
                if holds(None if gone else codec.to_plain(change.object)):
                    return
        finally:
            watch.close()


async def _present(registry: Registry, target: Target, user: User) -> Any:
    try:
        return codec.to_plain(await registry.get(target, user))
    except ApiError as error:
        if errors.is_not_found(error):
            return None
        raise


def _condition_holds(plain: Any, name: str, value: str) -> bool:
    if plain is None:
        return False
    status = plain.get("status") or {}
    for each in status.get("conditions") or ():
        if str(each.get("type", "")).lower() == name:
            generation, observed = plain["metadata"].get("generation"), each.get("observedGeneration")
            if None not in (generation, observed) and observed < generation:
                return False  # it is about an earlier specification
            return str(each.get("status", "")).lower() == value
    return False


def _path_predicate(text: str) -> Holds:
    """Return the test of ``{.path}=value``; without a value the path is to lead somewhere."""
    path, closing, rest = text.lstrip("'\"").rpartition("}")
    rest = rest.lstrip("'\"")  # what a shell would have taken away
    if not closing:
        path, _, rest = text.partition("=")
        rest = "=" + rest if rest else ""
    if rest and not rest.startswith("="):
        raise ValueError(f"jsonpath wait format must be --for=jsonpath='{{}}'=value, not {text!r}")
    try:
        compiled = JsonPath(path.removeprefix("{"))
    except JsonPathError as error:
        raise ValueError(str(error)) from error
    wanted = rest[1:] if rest else None

    def holds(plain: Any) -> bool:
        found = [] if plain is None else compiled.find(plain)
        return any(wanted is None or _shown(each) == wanted for each in found)

    return holds


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.encode(value).decode()

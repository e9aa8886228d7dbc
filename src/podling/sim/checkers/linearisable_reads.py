"""Reads are linearisable for each object, and a write that names a revision replaces just that one.

A read returns the object as it was at some moment between its begin and its answer. A list of the newest
state is not older than its begin, and every object in it is as it was at the list's revision. An update with
a resource version succeeds only if nothing was written to the object since that version.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from msgspec import Struct, field

from podling.client.base import Listing
from podling.client.requests import ListOptions
from podling.machinery.errors import is_not_found
from podling.machinery.resource import Resource
from podling.sim.changes import Change
from podling.sim.checkers.base import Checker, Report, Surroundings
from podling.sim.connection import Request

KEPT_MAX = 512
"""The number of writes to an object that are remembered: a request does not last longer."""

Key = tuple[str, str]
"""Namespace and name."""


class _Writes(Struct):
    """The writes to one object, the latest ones; ``removals`` are those that removed it."""

    revisions: list[int] = field(default_factory=list)
    removals: set[int] = field(default_factory=set)

    def add(self, revision: int, *, removed: bool) -> None:
        self.revisions.append(revision)
        if removed:
            self.removals.add(revision)
        if len(self.revisions) > 2 * KEPT_MAX:
            del self.revisions[:KEPT_MAX]
            self.removals &= set(self.revisions)

    def newest(self, revision: int) -> int:
        """Return the revision of the last write up to ``revision``; 0 without one."""
        place = bisect_right(self.revisions, revision)
        return self.revisions[place - 1] if place else 0

    def exists(self, revision: int) -> bool:
        newest = self.newest(revision)
        return newest > 0 and newest not in self.removals


class LinearisableReads(Checker):
    """Compares answers with the store's own history."""

    name = "linearisable-reads"

    def __init__(self, surroundings: Surroundings, report: Report) -> None:
        super().__init__(surroundings, report)
        self._writes: dict[Resource, dict[Key, _Writes]] = {}
        self._revision = 0

    def change(self, change: Change) -> None:
        self._revision = change.revision
        writes = self._of(change.resource, change.namespace, change.name)
        writes.add(change.revision, removed=change.new is None)

    def request(self, request: Request) -> None:
        target = request.target
        if target.resource.storage_resource not in self._writes:
            return
        if request.verb == "get" and not target.subresource:
            self._check_get(request)
        elif request.verb == "list" and request.error is None:
            self._check_list(request, request.detail, request.answer)
        elif request.verb == "update" and request.error is None and target.subresource in ("", "status"):
            self._check_update(request)

    def _of(self, resource: Resource, namespace: str, name: str) -> _Writes:
        return self._writes.setdefault(resource, {}).setdefault((namespace, name), _Writes())

    def _check_get(self, request: Request) -> None:
        target = request.target
        writes = self._of(target.resource.storage_resource, target.namespace, target.name)
        if request.error is not None:
            gone = any(revision > request.sent for revision in writes.removals)
            if is_not_found(request.error) and writes.exists(request.sent) and not gone:
                self.report(f"{_what(request)}: not found, although it exists")
            return
        revision, before = _revision(request.answer), writes.newest(request.sent)
        if revision < before:
            text = f"revision {revision}, although revision {before} was written before the read began"
            self.report(f"{_what(request)}: {text}")
        elif revision not in writes.revisions[-KEPT_MAX:] and len(writes.revisions) < KEPT_MAX:
            self.report(f"{_what(request)}: revision {revision}, which was never written")

    def _check_list(self, request: Request, options: ListOptions, found: Listing[Any]) -> None:
        if options.resource_version or options.continue_token or request.target.subresource:
            return
        revision = int(found.resource_version or 0)
        if revision < request.sent:
            self.report(f"{_what(request)}: a list as of revision {revision}, begun at {request.sent}")
            return
        known = self._writes[request.target.resource.storage_resource]
        for each in found.items:
            key = (each.metadata.namespace or "", each.metadata.name or "")
            writes = known.get(key)
            if writes is not None and writes.newest(revision) != _revision(each):
                text = f"{'/'.join(key)} has revision {_revision(each)}, not {writes.newest(revision)}"
                self.report(f"{_what(request)} as of {revision}: {text}")
        if options.label_selector or options.field_selector or options.limit or request.target.name:
            return
        namespace = request.target.namespace
        count = sum(writes.exists(revision) for key, writes in known.items() if namespace in ("", key[0]))
        if count != len(found.items):
            self.report(f"{_what(request)} as of {revision}: {len(found.items)} objects of {count}")

    def _check_update(self, request: Request) -> None:
        named = request.detail.metadata.resource_version if hasattr(request.detail, "metadata") else ""
        if not named:
            return
        target, revision = request.target, _revision(request.answer)
        writes = self._of(target.resource.storage_resource, target.namespace, target.name)
        if revision == int(named) or revision not in writes.revisions:
            return  # nothing was changed
        before = writes.newest(revision - 1)
        if before != int(named):
            text = f"it named revision {named} and replaced revision {before}"
            self.report(f"{_what(request)}: {text}")


def _revision(obj: Any) -> int:
    return int(obj.metadata.resource_version or 0)


def _what(request: Request) -> str:
    target = request.target
    place = "/".join(part for part in (target.resource.plural, target.namespace, target.name) if part)
    return f"{request.verb} of {place} by {request.part}"

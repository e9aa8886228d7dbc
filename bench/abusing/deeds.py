"""The deeds of the abuser: each a name, a description, and the work of its connections."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from bench.abusing import bodies, works
from bench.abusing.wire import Endpoint
from bench.abusing.work import Work
from bench.abusing.works import APPLY, JSON_PATCH, MERGE, STRATEGIC

FOLLOWED = "log?follow=true"
EXEC = "exec?command=nice&command=-n&command=19&command=yes&stdout=true"
PODS = "process"
"""The runtime of deeds that need processes in pods."""


class Deed(NamedTuple):
    """One kind of abuse. ``runs`` is the runtime it needs; empty for any."""

    name: str
    title: str
    work: Callable[[Endpoint], Work]
    runs: str = ""


def patches(name: str, title: str, kind: str, body: Callable[[int], bytes]) -> tuple[Deed, Deed]:
    """Return the deeds of a type of patch: on one object, and on one for each connection."""
    work = partial(works.patch, kind, body)
    return (
        Deed(f"{name}-one", f"{title} of 20,000 keys, one object", partial(work, many=False)),
        Deed(f"{name}-many", f"{title} of 20,000 keys, 64 objects", partial(work, many=True)),
    )


def listed(name: str, title: str, query: str = "", more: str = works.JSON) -> Deed:
    work = partial(works.lists, query=query, more=more)
    return Deed(f"list-{name}", f"LIST of 5,000 objects of 4 kB {title}", work)


ALL: tuple[Deed, ...] = (
    *patches("apply", "apply", APPLY, bodies.applied),
    *patches("merge", "merge patch", MERGE, bodies.merged),
    *patches("strategic", "strategic merge patch", STRATEGIC, bodies.merged),
    *patches("json", "JSON patch", JSON_PATCH, bodies.replaced),
    Deed(
        "json-operations",
        "JSON patch of 10,000 operations, one object",
        partial(works.patch, JSON_PATCH, bodies.operations, many=False),
    ),
    Deed("post", "POST of 900 kB, deleted again", partial(works.post_large, dry=False)),
    Deed("post-dry", "dry-run POST of 900 kB", partial(works.post_large, dry=True)),
    listed("json", "as JSON"),
    listed("table", "as a table", more=f"Accept: {works.TABLE}\r\n"),
    listed("gzip", "compressed", more="Accept-Encoding: gzip\r\n"),
    listed("label", "by a label selector", query="?labelSelector=kind%3Dlisted,group!%3Dg1"),
    listed("field", "by a field selector", query="?fieldSelector=metadata.name!%3Dl00001"),
    Deed("watches", "1,000 watches opened and closed", partial(works.watches, objects=0)),
    Deed(
        "watches-state",
        "the same with 500 objects of 4 kB as initial state",
        partial(works.watches, objects=works.WATCHED),
    ),
    Deed("events", "POST of 10,000 events and more", works.events),
    Deed("pods", "pods created and deleted", works.pods),
    Deed("exec", "exec of a command with endless output", partial(works.endless, path=EXEC), PODS),
    Deed("exec-unread", "the same, not read", partial(works.endless, path=EXEC, reads=False), PODS),
    Deed("log", "log of endless output, followed", partial(works.endless, path=FOLLOWED), PODS),
    Deed("log-unread", "the same, not read", partial(works.endless, path=FOLLOWED, reads=False), PODS),
    Deed("openapi", "OpenAPI documents", partial(works.gets, paths=works.OPENAPI)),
    Deed("metrics", "metrics", partial(works.gets, paths=("/metrics",))),
    Deed("custom-post", "dry-run POST of custom objects with expensive rules", works.widgets),
    Deed("custom-apply", "apply of the same", partial(works.widgets, applies=True)),
    Deed("definitions", "apply of definitions with large schemas", works.definitions),
    Deed("garbage", "large requests that are refused late", works.garbage),
    Deed("handshakes", "64 connections, each closed after one request", partial(works.handshakes, each=1)),
    Deed("handshakes-500", "the same with 512 connections", partial(works.handshakes, each=8)),
)
BY_NAME = {deed.name: deed for deed in ALL}

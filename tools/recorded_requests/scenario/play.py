"""The order of the scenario."""

from __future__ import annotations

from collections.abc import Mapping

from tools.recorded_requests.recorder import Json, Recorder
from tools.recorded_requests.scenario import (
    access,
    bodies,
    custom_resources,
    lifecycle,
    limits,
    manifests,
    pages,
    subresources,
)
from tools.recorded_requests.scenario.kinds import Kind, discovered
from tools.recorded_requests.scenario.preparation import prepare
from tools.recorded_requests.scenario.variants import added_fields

KINDS_BETWEEN_WATCHES = 10
"""Watches last a second, so those of several kinds are sent together."""


def play(recorder: Recorder) -> None:
    """Send the requests of the scenario."""
    prepare(recorder)
    custom_resources.define(recorder)
    recorder.group("discovery")
    kinds = discovered(recorder)
    schemas = pages.send_openapi(recorder)
    pages.send_pages(recorder)
    for number, kind in enumerate(kinds, 1):
        if kind.stored():
            _live(recorder, kind, bodies.Bodies(schemas.get(kind.group_version, {})))
        else:
            _send_without_storing(recorder, kind, schemas.get(kind.group_version, {}))
        if number % KINDS_BETWEEN_WATCHES == 0 or number == len(kinds):
            recorder.send_watches()
    access.send_for_users(recorder, kinds)
    access.send_credentials(recorder)
    access.send_reviews(recorder, kinds)
    custom_resources.send_changes(recorder)
    manifests.apply_all(recorder)
    limits.send_all(recorder)
    recorder.group("metrics")
    recorder.send("at the end", "GET", "/metrics")


def _live(recorder: Recorder, kind: Kind, changed: bodies.Bodies) -> None:
    """Lead the object of a kind through its life."""
    recorder.group("list")
    before = recorder.send(f"{kind.title} before", "GET", kind.everywhere).json()
    changed.send_creations(recorder, kind)
    lifecycle.create(recorder, kind)
    lifecycle.read(recorder, kind)
    lifecycle.list_all(recorder, kind)
    changed.send_updates(recorder, kind)
    changed.send_status_updates(recorder, kind)
    lifecycle.update(recorder, kind)
    lifecycle.patch(recorder, kind)
    subresources.send_all(recorder, kind)
    lifecycle.delete(recorder, kind)
    lifecycle.delete_collection(recorder, kind)
    lifecycle.watch_later(recorder, kind, before["metadata"]["resourceVersion"])


def _send_without_storing(recorder: Recorder, kind: Kind, schemas: Mapping[str, Json]) -> None:
    """Send what a kind allows that is not stored, or of which no valid object is known."""
    recorder.group("other kinds")
    for name, path in {
        "list": kind.everywhere,
        "get": kind.path,
        "watch": f"{kind.base}/watch/{kind.resource}?timeoutSeconds=1",
    }.items():
        recorder.sample(f"{kind.title} {name}", "GET", path)
    recorder.sample(f"{kind.title} delete", "DELETE", kind.path)
    schema = bodies.schema_of(kind, schemas)
    identity = {"apiVersion": kind.group_version, "kind": kind.kind, "metadata": {}, "spec": {}}
    if "create" in kind.verbs and schema is not None:
        recorder.send(f"{kind.title} empty", "POST", kind.collection, identity, query=bodies.DRY_RUN)
        for label, body in added_fields(identity, schema, schemas):
            recorder.sample(f"{kind.title} {label}", "POST", kind.collection, body, query=bodies.DRY_RUN)

"""Bodies of every kind that the server refuses or corrects; all are sent as dry runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tools.recorded_requests.recorder import Json, Recorder
from tools.recorded_requests.scenario.kinds import Kind
from tools.recorded_requests.scenario.variants import added_fields, changed_fields

DRY_RUN = {"dryRun": "All", "fieldValidation": "Strict"}


def send_creations(recorder: Recorder, kind: Kind, schemas: Mapping[str, Json]) -> None:
    """Create the object of a kind with one change at a time."""
    recorder.group("bodies to create")
    for label, body in _bodies(kind.body(), kind, schemas):
        recorder.send(f"{kind.title} {label}", "POST", kind.collection, body, query=DRY_RUN)


def send_updates(recorder: Recorder, kind: Kind, schemas: Mapping[str, Json]) -> None:
    """Update the stored object of a kind with one change at a time; it must be stored."""
    recorder.group("bodies to update")
    stored = recorder.send(f"{kind.title} stored", "GET", kind.path).json()
    stored["metadata"].pop("managedFields", None)
    for label, body in _bodies(stored, kind, schemas):
        recorder.send(f"{kind.title} {label}", "PUT", kind.path, body, query=DRY_RUN)


def send_status_updates(recorder: Recorder, kind: Kind, schemas: Mapping[str, Json]) -> None:
    """Update the status of the stored object with one field at a time."""
    if not any(name == "status" for name, _ in kind.subresources):
        return
    recorder.group("bodies to update status")
    stored = recorder.send(f"{kind.title} stored", "GET", kind.path).json()
    stored["metadata"].pop("managedFields", None)
    stored.setdefault("status", {})
    for label, body in _bodies(stored, kind, schemas):
        if "status." in label:
            recorder.send(f"{kind.title} {label}", "PUT", f"{kind.path}/status", body, query=DRY_RUN)


def _bodies(valid: Json, kind: Kind, schemas: Mapping[str, Json]) -> Iterable[tuple[str, Json]]:
    yield from changed_fields(valid)
    schema = schema_of(kind, schemas)
    if schema is not None:
        yield from added_fields(valid, schema, schemas)


def schema_of(kind: Kind, schemas: Mapping[str, Json]) -> Json | None:
    """Return the schema that names the kind in its ``x-kubernetes-group-version-kind``."""
    group, _, version = kind.group_version.rpartition("/")
    wanted = {"group": group, "version": version, "kind": kind.kind}
    for schema in schemas.values():
        if wanted in schema.get("x-kubernetes-group-version-kind", ()):
            return schema
    return None

"""Bodies of every kind that the server refuses or corrects; all are sent as dry runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tools.recorded_requests.recorder import Json, Recorder
from tools.recorded_requests.scenario.kinds import Kind
from tools.recorded_requests.scenario.variants import added_fields, changed_fields

DRY_RUN = {"dryRun": "All", "fieldValidation": "Strict"}


@dataclass(frozen=True)
class Bodies:
    """The changed bodies of the kinds of one group and version.

    Args:
        schemas: those of its OpenAPI document.
    """

    schemas: Mapping[str, Json]

    def send_creations(self, recorder: Recorder, kind: Kind) -> None:
        """Create the object of a kind with one change at a time."""
        recorder.group("bodies to create")
        for label, body in self._changed(kind.body(), kind):
            recorder.sample(f"{kind.title} {label}", "POST", kind.collection, body, query=DRY_RUN)

    def send_updates(self, recorder: Recorder, kind: Kind) -> None:
        """Update the stored object of a kind with one change at a time; it must be stored."""
        recorder.group("bodies to update")
        for label, body in self._changed(_stored(recorder, kind), kind):
            recorder.sample(f"{kind.title} {label}", "PUT", kind.path, body, query=DRY_RUN)

    def send_status_updates(self, recorder: Recorder, kind: Kind) -> None:
        """Update the status of the stored object with one change at a time."""
        if not any(name == "status" for name, _ in kind.subresources):
            return
        recorder.group("bodies to update status")
        stored = {"status": {}, **_stored(recorder, kind)}
        for label, body in self._changed(stored, kind, "status."):
            recorder.sample(f"{kind.title} {label}", "PUT", f"{kind.path}/status", body, query=DRY_RUN)

    def _changed(self, valid: Json, kind: Kind, part: str = "") -> Iterator[tuple[str, Json]]:
        """Yield the bodies whose label names the part."""
        return (each for each in self._all(valid, kind) if part in each[0])

    def _all(self, valid: Json, kind: Kind) -> Iterator[tuple[str, Json]]:
        yield from changed_fields(valid)
        schema = schema_of(kind, self.schemas)
        if schema is not None:
            yield from added_fields(valid, schema, self.schemas)


def _stored(recorder: Recorder, kind: Kind) -> Json:
    stored: Json = recorder.send(f"{kind.title} stored", "GET", kind.path).json()
    stored["metadata"].pop("managedFields", None)
    return stored


def schema_of(kind: Kind, schemas: Mapping[str, Json]) -> Json | None:
    """Return the schema that names the kind in its ``x-kubernetes-group-version-kind``."""
    group, _, version = kind.group_version.rpartition("/")
    wanted = {"group": group, "version": version, "kind": kind.kind}
    for schema in schemas.values():
        if wanted in schema.get("x-kubernetes-group-version-kind", ()):
            return schema
    return None

"""Write ``machinery/encoding/protobuf_fields.json``: the number of each field in Kubernetes' protobuf.

The messages come from the ``generated.proto`` of each API group. Only the groups that Podling serves are
kept, and of each field its number, JSON name and type. A ``.proto`` file does not say which scalars are
pointers in Go, and those matter: ``replicas: 0`` means zero, while ``hostPort: 0``, which Go's encoder writes
as well, means that the field is absent. So the JSON name and the pointer come from the tags of the Go struct.

    python -m tools.gen_protobuf FOLDER            write the file
    python -m tools.gen_protobuf FOLDER --check    exit 1 if the file on disk differs

``FOLDER`` holds checkouts as ``tools/go_source.py`` expects them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from podling.machinery.scheme import RESOURCES, module_of
from tools import go_source
from tools.go_source import ProtoField

TARGET = Path(__file__).resolve().parents[1] / "src/podling/machinery/encoding/protobuf_fields.json"

_MACHINERY = "k8s.io/apimachinery/pkg/"
_OWN_REPOSITORIES = {
    "apiextensions_v1": "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1",
    "apiregistration_v1": "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1",
}
_WITHOUT_RESOURCES = ("policy/v1beta1", "autoscaling/v1")
"""Versions of request bodies that no resource of ``RESOURCES`` has: evictions and scales."""

_SCALARS = {"string": "string", "bool": "bool", "bytes": "bytes", "double": "double"} | dict.fromkeys(
    ("int32", "int64", "uint32", "uint64"), "int"
)

Row = list[str]
"""[JSON name, type, how]; how is "", "pointer", "repeated" or "inline"."""


def packages() -> list[str]:
    """Return the Go packages of all kinds in request bodies, by their import paths."""
    served = {module_of(each.group, each.version).rpartition(".")[2] for each in RESOURCES}
    ordinary = {name.replace("_", "/") for name in served - _OWN_REPOSITORIES.keys()}
    found = {f"k8s.io/api/{name}" for name in ordinary | set(_WITHOUT_RESOURCES)}
    found |= {_MACHINERY + name for name in ("apis/meta/v1", "api/resource", "runtime", "util/intstr")}
    return sorted(found | set(_OWN_REPOSITORIES.values()))


def tables(root: Path, path: str) -> dict[str, dict[str, Row]]:
    """Return the tables of one package: number -> row, by the full name of the message."""
    package = go_source.package(root, path)
    found: dict[str, dict[str, Row]] = {}
    for message, fields in go_source.messages(root, path).items():
        name = message.rpartition(".")[2]
        in_go = {}
        if name in package.structs:
            in_go = {each.number: each for each in package.fields(name) if each.number is not None}
        rows: dict[str, Row] = {}
        for field in fields:
            go = in_go.get(field.number)
            rows[str(field.number)] = _row(message, field, go)
            if field.key:
                found[_entry(message, field)] = {
                    "1": ["key", _SCALARS[field.key], ""],
                    "2": ["value", _type(field), ""],
                }
        found[message] = rows
    return found


def _row(message: str, field: ProtoField, go: go_source.GoField | None) -> Row:
    if field.key:
        return [go.name if go else field.name, _entry(message, field), "repeated"]
    if field.repeated:
        return [go.name if go else field.name, _type(field), "repeated"]
    if go is not None and not go.name:
        return [field.name, _type(field), "inline"]
    pointer = go is not None and go.kind == "pointer" and field.type in _SCALARS
    return [go.name if go else field.name, _type(field), "pointer" if pointer else ""]


def _entry(message: str, field: ProtoField) -> str:
    """Return the message that protobuf makes for the entries of a map."""
    return f"{message}.{field.name[:1].upper()}{field.name[1:]}Entry"


def _type(field: ProtoField) -> str:
    return _SCALARS.get(field.type, field.type)


def build(root: Path) -> str:
    """Return the content of the file."""
    found: dict[str, dict[str, Row]] = {}
    for path in packages():
        found |= tables(root, path)
    return json.dumps(dict(sorted(found.items())), separators=(",", ":")) + "\n"


if __name__ == "__main__":
    sys.exit(go_source.run_generator("tools.gen_protobuf", TARGET, build))

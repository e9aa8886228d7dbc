"""Readers of Kubernetes' API packages: the structs in Go files and the messages in ``generated.proto``.

The packages come from a folder that holds checkouts of the upstream repositories ``api``, ``apimachinery``,
``apiextensions-apiserver`` and ``kube-aggregator``, each of the release ``RELEASE``.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

RELEASE = "v0.36.0"

_IMPORT = re.compile(r'^(?:import\s+|\s+)(\w+\s+)?"(k8s\.io/[^"]+)"', re.M)
_STRUCT = re.compile(r"^type (\w+) struct\s*\{(?:\n(.*?)^\}|\s*\})", re.M | re.S)
_NAMED = re.compile(r"^(?:type\s+|\t)(\w+) =?\s*(?!struct\b)([\w.\[\]*]+)\s*$", re.M)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
_FIELD = re.compile(r"^\s*(?:(\w+)\s+)?([\w.\[\]*]+)\s+`([^`]*)`", re.M)
_JSON_TAG = re.compile(r'json:"([^"]*)"')
_PROTO_TAG = re.compile(r'protobuf:"\w+,(\d+),')
_SCALARS = {"string": "string", "bool": "bool", "float64": "float"} | dict.fromkeys(
    ("int", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"), "int"
)

_MESSAGE = re.compile(r"^message (\w+) \{\n(.*?)^\}", re.M | re.S)
_MESSAGE_FIELD = re.compile(
    r"^\s*(?:(optional|repeated) )?(?:map<(\w+), ([\w.]+)>|([\w.]+)) (\w+) = (\d+);", re.M
)


@dataclass(frozen=True)
class GoField:
    """A field of a Go struct, as ``encoding/json`` and protobuf see it."""

    name: str
    """The JSON name; empty if the fields of its struct belong to the parent."""
    go_type: str
    kind: str
    """``bool``, ``int``, ``float``, ``string``, ``slice``, ``map``, ``struct`` or ``pointer``."""
    omitempty: bool
    omitzero: bool
    number: int | None
    """The number in protobuf messages."""


@dataclass(frozen=True)
class ProtoField:
    """A field of a protobuf message."""

    number: int
    name: str
    type: str
    """A scalar type or the full name of a message; the value's, if the field is a map."""
    repeated: bool
    key: str
    """The type of the keys if the field is a map, else empty."""


class Package:
    """One Go package: its structs by name, and the kinds of its other types."""

    def __init__(self, root: Path, path: str) -> None:
        """``path`` is the import path: ``k8s.io/api/core/v1``."""
        self.root, self.path = root, path
        self.structs: dict[str, str] = {}
        self.named: dict[str, str] = {}
        self.imports: dict[str, str] = {}
        for file in sorted((root / path.removeprefix("k8s.io/")).glob("*.go")):
            if file.name.startswith(("generated", "zz_")) or file.name.endswith("_test.go"):
                continue
            text = _COMMENT.sub("", file.read_text())
            self.structs |= {match[1]: match[2] or "" for match in _STRUCT.finditer(text)}
            self.named |= {match[1]: match[2] for match in _NAMED.finditer(text)}
            for match in _IMPORT.finditer(text):
                last = match[2].rpartition("/")[2]
                self.imports[(match[1] or last).strip()] = match[2]

    def fields(self, struct: str) -> list[GoField]:
        """Return the fields of a struct that have a JSON name or are inline, in source order."""
        found = []
        for match in _FIELD.finditer(self.structs[struct]):
            tags = match[3]
            said = _JSON_TAG.search(tags)
            if said is None or said[1] == "-":
                continue
            name, *options = said[1].split(",")
            number = _PROTO_TAG.search(tags)
            found.append(
                GoField(
                    name=name,
                    go_type=match[2],
                    kind=self.kind(match[2]),
                    omitempty="omitempty" in options,
                    omitzero="omitzero" in options,
                    number=int(number[1]) if number else None,
                )
            )
        return found

    def flat_fields(self, struct: str) -> Iterator[GoField]:
        """Return the fields of a struct in JSON, those of inline structs included."""
        if struct not in self.structs:
            other, name = self.resolve(self.named[struct])
            yield from other.flat_fields(name)
            return
        for field in self.fields(struct):
            if field.name:
                yield field
            else:
                other, name = self.resolve(field.go_type)
                yield from other.flat_fields(name)

    def resolve(self, go_type: str) -> tuple[Package, str]:
        """Return the package and the name of a type that may be qualified."""
        qualifier, _, name = go_type.lstrip("*").rpartition(".")
        return (package(self.root, self.imports[qualifier]) if qualifier else self), name

    def kind(self, go_type: str) -> str:
        """Return the kind of a type behind its names. Raise LookupError for an unknown one."""
        if go_type.startswith("*"):
            return "pointer"
        if go_type.startswith("["):
            return "slice"
        if go_type.startswith("map["):
            return "map"
        if go_type in _SCALARS:
            return _SCALARS[go_type]
        other, name = self.resolve(go_type)
        if name in other.structs:
            return "struct"
        if name not in other.named:
            raise LookupError(f"{other.path} has no type {name}")
        return other.kind(other.named[name])


@cache
def package(root: Path, path: str) -> Package:
    """Return the package at an import path, read once."""
    return Package(root, path)


def messages(root: Path, path: str) -> dict[str, list[ProtoField]]:
    """Return the messages in the ``generated.proto`` of a package, by their full names."""
    text = _COMMENT.sub("", (root / path.removeprefix("k8s.io/") / "generated.proto").read_text())
    prefix = proto_package(path)
    own = {match[1]: match[2] for match in _MESSAGE.finditer(text)}
    return {
        f"{prefix}.{name}": [_proto_field(each, prefix, own) for each in _lines(own[name])] for name in own
    }


def proto_package(path: str) -> str:
    """Return the protobuf package of a Go package."""
    return path.replace("/", ".").replace("-", "_")


def _lines(body: str) -> list[re.Match[str]]:
    found = list(_MESSAGE_FIELD.finditer(body))
    if len(found) != body.count(";"):
        raise ValueError(f"fields that cannot be read: {body}")
    return found


def _proto_field(match: re.Match[str], prefix: str, own: dict[str, str]) -> ProtoField:
    label, key, value, plain, name, number = match.groups()
    type_ = value or plain
    full = f"{prefix}.{type_}" if type_ in own else type_.lstrip(".")
    return ProtoField(int(number), name, full, label == "repeated", key or "")


def run_generator(program: str, target: Path, build: Callable[[Path], str]) -> int:
    """Write the file that ``build`` makes of upstream's checkouts, or compare it; return the exit code.

    ``program`` is the module's name, for the command line's messages.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=f"Write {target.name}.")
    parser.add_argument("folder", type=Path, help="holds checkouts of the upstream repositories")
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 on a difference")
    arguments = parser.parse_args()
    content = build(arguments.folder)
    if not arguments.check:
        target.write_text(content)
        return 0
    if target.read_text() != content:
        print(f"out of date, run {program}", file=sys.stderr)
        return 1
    return 0

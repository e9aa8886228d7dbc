"""From a ``KubeletConfiguration`` to fields of ``KubeletConfig``; unsupported ones are refused. Pure.

A field is supported if ``KubeletConfig`` has a field of its name in snake case, nested names joined. Its
value is converted to the type there: texts to seconds, paths to absolute ones, maps of durations.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from podling.kubelet.config import KubeletConfig
from podling.kubelet.configuration.support import NO_EFFECT, UNSUPPORTED, Unsupported
from podling.kubelet.configuration.types import KubeletConfiguration
from podling.machinery.durations import seconds_of
from podling.machinery.quantity import parse

ELSEWHERE = {
    "container_log_max_size": "container_log_max_size_bytes",
    "crash_loop_back_off_max_container_restart_period": "crash_loop_back_off_max",
}
"""Fields of other names in ``KubeletConfig``."""

SET_BY_NODE = frozenset({"cgroup_root"})
"""Fields of ``KubeletConfig`` that every node sets for itself."""

MERGES_DEFAULTS = "merge_default_eviction_settings"
"""The field that completes ``evictionHard`` with the defaults of the signals that it does not name."""

REFUSED_BY_VALIDATION = frozenset({"run_once"})
"""Fields that Kubernetes refuses, too."""

_ZERO_DURATION = re.compile(r"(0+(ns|us|µs|ms|s|m|h))+")


class Given(Struct, frozen=True):
    """A field that a file sets: its name in snake case, its path in the file, its value."""

    name: str
    path: str
    value: Any


def given_fields(document: Struct, name: str = "", path: str = "") -> Iterator[Given]:
    """Return the fields that differ from absent, those of nested structs by themselves."""
    for each in msgspec.structs.fields(type(document)):
        if not name and each.name in ("api_version", "kind"):
            continue
        value = getattr(document, each.name)
        full = f"{name}_{each.name}" if name else each.name
        where = f"{path}.{each.encode_name}" if path else each.encode_name
        if isinstance(value, Struct):
            yield from given_fields(value, full, where)
        elif value != _absent(each) and not _is_zero_duration(value, each):
            yield Given(full, where, value)


def _is_zero_duration(value: object, each: msgspec.structs.FieldInfo) -> bool:
    """Return whether this is Go's zero of a duration, which is not given unless the field is a pointer."""
    return each.default == "" and isinstance(value, str) and _ZERO_DURATION.fullmatch(value) is not None


def _absent(each: msgspec.structs.FieldInfo) -> Any:
    if each.default_factory is not msgspec.NODEFAULT:
        return each.default_factory()
    return each.default


def settings_from(document: KubeletConfiguration, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the fields of ``KubeletConfig`` that a document sets, and why others cannot hold.

    Args:
        folder: the directory of the file, to which relative paths refer.
    """
    settings: dict[str, Any] = {}
    problems: list[str] = []
    hints = typing.get_type_hints(KubeletConfig)
    for field in given_fields(document):
        target = ELSEWHERE.get(field.name, field.name)
        if target in hints and target not in SET_BY_NODE:
            try:
                settings[target] = _converted(field, hints[target], folder)
            except ValueError as error:
                problems.append(f"{field.path}: {error}")
        elif field.name not in NO_EFFECT | REFUSED_BY_VALIDATION | {MERGES_DEFAULTS}:
            refusal = _refusal(field)
            if refusal:
                problems.append(refusal)
    if document.merge_default_eviction_settings and "eviction_hard" in settings:
        settings["eviction_hard"] = {**KubeletConfig().eviction_hard, **settings["eviction_hard"]}
    return _with_dependent(settings), problems


def _with_dependent(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings with defaults that depend on others (``SetDefaults_KubeletConfiguration``)."""
    if "node_status_update_frequency" in settings:
        settings.setdefault("node_status_report_frequency", settings["node_status_update_frequency"])
    if settings.get("max_parallel_image_pulls", 0) >= 2:
        settings.setdefault("serialize_image_pulls", False)
    if settings.get("pod_pids_limit", 0) < 0:
        settings["pod_pids_limit"] = -1
    return settings


def _refusal(field: Given) -> str:
    found = UNSUPPORTED.get(field.name, Unsupported("Podling's kubelet does not have it"))
    if any(field.value == value for value in found.accepted):
        return ""
    if found.accepted:
        values = " or ".join(msgspec.json.encode(value).decode() for value in found.accepted)
        return f"field {field.path} may only be {values}: {found.reason}"
    return f"field {field.path} is not supported: {found.reason}"


def _converted(field: Given, hint: Any, folder: Path) -> Any:
    """Return the value as ``KubeletConfig`` has it. Raises ``ValueError``."""
    value = field.value
    if field.name == "container_log_max_size":
        return parse(value).value
    kinds = kinds_of(hint)
    if Path in kinds:
        return folder / value if value else None
    if float in kinds and isinstance(value, str):
        return seconds_of(value)
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is not None and arguments[-1] is float and isinstance(value, Mapping):
        return {key: seconds_of(each) for key, each in value.items()}
    return value


class Field(Struct, frozen=True):
    """A field that a document may set: its name in snake case, its path, its type there."""

    name: str
    path: str
    hint: Any


def every_field(type_: type[Struct], name: str = "", path: str = "") -> Iterator[Field]:
    """Return the fields of a document, those of nested structs by themselves."""
    hints = typing.get_type_hints(type_)
    for each in msgspec.structs.fields(type_):
        if not name and each.name in ("api_version", "kind"):
            continue
        full = f"{name}_{each.name}" if name else each.name
        where = f"{path}.{each.encode_name}" if path else each.encode_name
        kinds = kinds_of(hints[each.name])
        nested = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Struct)]
        if nested:
            yield from every_field(nested[0], full, where)
        else:
            yield Field(full, where, hints[each.name])


def kinds_of(hint: Any) -> tuple[Any, ...]:
    """Return the types of which a value may be."""
    return typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)

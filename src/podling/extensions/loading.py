"""Finding the extensions that are enabled: by entry points, and in the table of those that Podling brings.

An entry of ``podling up --with`` is the name of an extension, or ``NAME:GATE=true`` (or ``false``), which
also sets one of its feature gates.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points

from podling.extensions.extension import Extension

GROUP = "podling.extensions"
"""The group of entry points in which packages register their extensions."""

OWN: Mapping[str, str] = {
    "kruise": "podling_kruise.extension:KruiseExtension",
    "snapshots": "podling_snapshots.extension:SnapshotExtension",
    "vpa": "podling_vpa.extension:VpaExtension",
}
"""Extensions that Podling brings: a checkout has no entry points."""

_BOOLEANS = {"true": True, "false": False}


class UnknownExtension(Exception):
    """An extension that is not installed or cannot be imported, or a feature gate that it does not have."""


def extensions_of(entries: Sequence[str]) -> tuple[Extension, ...]:
    """Return the extensions of a cluster whose settings list these entries, each once.

    Raises ``UnknownExtension``.
    """
    chosen: dict[str, dict[str, bool]] = {}
    for entry in entries:
        name, _, gate = entry.partition(":")
        gates = chosen.setdefault(name, {})
        if gate:
            key, value = _gate(entry, gate)
            gates[key] = value
    return tuple(_extension(name, gates) for name, gates in chosen.items())


def entries_of(text: str) -> tuple[str, ...]:
    """Return the entries of a comma-separated list."""
    return tuple(entry.strip() for entry in text.split(",") if entry.strip())


def installed() -> tuple[str, ...]:
    """Return the names of all extensions that can be enabled."""
    return tuple(sorted({*OWN, *(each.name for each in entry_points(group=GROUP))}))


def _extension(name: str, gates: Mapping[str, bool]) -> Extension:
    kind = _class_of(name)
    unknown = sorted(set(gates) - set(kind.feature_gates))
    if unknown:
        known = ", ".join(sorted(kind.feature_gates)) or "none"
        raise UnknownExtension(f'extension "{name}" has no feature gate {unknown[0]}; it has: {known}')
    return kind(gates)


def _class_of(name: str) -> type[Extension]:
    place = OWN.get(name)
    if place is None:
        found = tuple(entry_points(group=GROUP, name=name))
        if not found:
            raise UnknownExtension(
                f'extension "{name}" is not installed; there are: {", ".join(installed())}'
            )
        return _checked(name, _loaded(name, found[0]))
    module, _, attribute = place.partition(":")
    return _checked(name, getattr(importlib.import_module(module), attribute))


def _loaded(name: str, entry: EntryPoint) -> object:
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        raise UnknownExtension(
            f'extension "{name}" cannot be imported from {entry.value}: {error}'
        ) from error


def _checked(name: str, found: object) -> type[Extension]:
    if not (isinstance(found, type) and issubclass(found, Extension)):
        raise UnknownExtension(f'extension "{name}" is no subclass of podling.extensions.extension.Extension')
    return found


def _gate(entry: str, text: str) -> tuple[str, bool]:
    key, _, value = text.partition("=")
    if value not in _BOOLEANS:
        raise UnknownExtension(f'"{entry}": a feature gate is written NAME:GATE=true or NAME:GATE=false')
    return key, _BOOLEANS[value]

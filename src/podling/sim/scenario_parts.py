"""The parts that scenarios are made of: durations, groups of nodes, manifests, conditions. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, field

from podling.api.core_v1 import Taint
from podling.machinery.durations import seconds_of


class Duration(float):
    """Seconds, written as ``1h30m`` or as a number."""


def duration_from(text: object) -> Duration:
    """Return a duration of a file. Raises ``ValueError``."""
    if isinstance(text, int | float) and not isinstance(text, bool):
        seconds = float(text)
    elif isinstance(text, str):
        seconds = seconds_of(text)
    else:
        raise ValueError("a duration is a text like 1h30m, or a number of seconds")
    if not 0 <= seconds < 1e9:
        raise ValueError(f"the duration {text} is negative, or longer than 30 years")
    return Duration(seconds)


class Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Base of all parts of a scenario."""


Path = tuple[str | int, ...]
"""The place of a field in a file, by its own names."""


class Finding(msgspec.Struct, frozen=True):
    """A problem and the path of the field that has it."""

    path: Path
    text: str


Labels = Mapping[str, str]
Count = Annotated[int, Meta(ge=0)]
Share = Annotated[float, Meta(gt=0, le=1)]


class NodeGroup(Part, frozen=True, kw_only=True):
    """Nodes of one size: ``<name>-1`` to ``<name>-<count>``; their zones follow one another in turn."""

    name: str
    count: Annotated[int, Meta(ge=0)] = 1
    cpu: str = "4"
    memory: str = "16Gi"
    ephemeral_storage: str = "100Gi"
    pods: Annotated[int, Meta(ge=1)] = 110
    zones: tuple[str, ...] = ()
    labels: Labels = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()


class ManifestSource(Part, frozen=True, kw_only=True):
    """Objects to apply: of a file beside the scenario, or written here. ``copies`` makes so many of each,
    with ``-1`` and so on after their names; the labels and selectors of a copy stay the same."""

    file: str = ""
    objects: tuple[dict[str, Any], ...] = ()
    copies: Annotated[int, Meta(ge=1)] = 1


class CountOf(Part, frozen=True, kw_only=True):
    """The number of objects that fit, and its bounds.

    ``kind`` is a kind, or ``kind.group``. ``where`` is a CEL expression over ``object``; an object without
    a field that it reads does not fit. ``conditioned`` is a phase or a condition that is True.
    """

    kind: str = "Pod"
    namespace: str = ""
    selector: str = ""
    name: str = "*"
    conditioned: str = field(default="", name="is")
    where: str = ""
    equals: Count | None = None
    at_least: Count | None = None
    at_most: Count | None = None


class Condition(Part, frozen=True, kw_only=True):
    """A statement about the cluster, true or false at each moment: exactly one of its fields."""

    count: CountOf | None = None
    cel: str = ""
    """CEL over lists of objects by their plural names: ``pods.all(p, p.metadata.namespace != 'x')``."""
    all: tuple[Condition, ...] = ()
    any: tuple[Condition, ...] = ()

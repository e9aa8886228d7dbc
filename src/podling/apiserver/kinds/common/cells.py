"""Columns and cells that the tables of many kinds share.

A column of priority 1 is shown by ``kubectl get -o wide`` only. Absent values read ``<none>``.

Upstream: ``pkg/printers/internalversion/printers.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from podling.api.core_v1 import PodSpec
from podling.api.meta_v1 import LabelSelector
from podling.machinery.tables import AGE, NAME, NONE, UNKNOWN, Column
from podling.machinery.tables import translate_timestamp_since as age_since

__all__ = [
    "AGE",
    "NAME",
    "NONE",
    "POD_TEMPLATE_COLUMNS",
    "UNKNOWN",
    "UNSET",
    "access_modes_text",
    "age",
    "age_since",
    "join_or_none",
    "label_text",
    "selector_struct",
    "selector_text",
    "template_cells",
    "to_stored_kind",
    "value_or_none",
    "wide_column",
]  # fmt: skip

UNSET = "<unset>"

POD_TEMPLATE_COLUMNS = (
    Column("Containers", priority=1, description="Names of the template's containers"),
    Column("Images", priority=1, description="Images of the template's containers"),
    Column("Selector", priority=1, description="Which pods are counted"),
)


def wide_column(name: str, description: str = "", type: str = "string") -> Column:
    """Return a column that only wide output shows."""
    return Column(name, type=type, description=description, priority=1)


def to_stored_kind(obj: Any) -> Any:
    """Return an object of any served kind as the kind that is stored."""
    from podling.apiserver.kinds.common.views import (
        stored_form,
    )  # deferred: it imports the types of the kinds that need it
    from podling.machinery.scheme import resource_of

    return stored_form(resource_of(type(obj)), obj)


def age(obj: Any, now: datetime) -> str:
    return age_since(obj.metadata.creation_timestamp, now)


def value_or_none(value: str | None) -> str:
    return value or NONE


def join_or_none(values: Iterable[str]) -> str:
    return ",".join(values) or NONE


def label_text(labels: Mapping[str, str]) -> str:
    """Return labels as ``key=value`` pairs in key order."""
    return join_or_none(f"{key}={labels[key]}" for key in sorted(labels))


_OPERATORS = {"In": " in ", "NotIn": " notin "}


def selector_text(selector: LabelSelector | None) -> str:
    """Return a label selector in the syntax of ``kubectl -l``; ``<none>`` for an empty one."""
    if selector is None:
        return NONE
    parts = [(key, f"{key}={value}") for key, value in selector.match_labels.items()]
    for requirement in selector.match_expressions:
        key, operator = requirement.key, requirement.operator
        if operator == "Exists":
            parts.append((key, key))
        elif operator == "DoesNotExist":
            parts.append((key, f"!{key}"))
        else:
            values = ",".join(sorted(requirement.values))
            parts.append((key, f"{key}{_OPERATORS.get(operator, operator)}({values})"))
    return join_or_none(text for _, text in sorted(parts, key=lambda part: part[0]))


def selector_struct(selector: LabelSelector) -> str:
    """Return a label selector as Go prints the struct, which some columns show."""
    labels = selector.match_labels
    pairs = "".join(f"{key}: {labels[key]}," for key in sorted(labels))
    requirements = "".join(
        f"LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{' '.join(values)}],}},"
        for key, operator, values in (
            (each.key, each.operator, each.values) for each in selector.match_expressions
        )
    )
    expressions = f"[]LabelSelectorRequirement{{{requirements}}}"
    return f"&LabelSelector{{MatchLabels:map[string]string{{{pairs}}},MatchExpressions:{expressions},}}"


def template_cells(spec: PodSpec) -> tuple[str, str]:
    """Return the *Containers* and *Images* cells of a pod template."""
    containers = spec.containers
    return ",".join(c.name for c in containers), ",".join(c.image or "" for c in containers)


_SHORT_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def access_modes_text(modes: Sequence[str]) -> str:
    """Return access modes in their short forms, in Kubernetes' order, without duplicates."""
    return ",".join(short for mode, short in _SHORT_MODES.items() if mode in modes)

"""The accepted names of a definition, and its conditions about them. Pure.

The names of one group are assigned first come, first served: plural, singular and short names share one
space, kinds and list kinds another. A definition whose names are taken keeps those that it already has.
Upstream: ``pkg/controller/status/naming_controller.go`` and ``establish``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime

from msgspec import structs

from podling.api.apiextensions_v1 import (
    CustomResourceDefinition,
    CustomResourceDefinitionCondition,
    CustomResourceDefinitionNames,
    CustomResourceDefinitionStatus,
)
from podling.machinery import conditions

NAMES_ACCEPTED = "NamesAccepted"
ESTABLISHED = "Established"
TERMINATING = "Terminating"
CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"


def with_condition(
    status: CustomResourceDefinitionStatus, type_: str, text: tuple[str, str, str], now: datetime
) -> CustomResourceDefinitionStatus:
    """Return ``status`` with a condition (status, reason, message)."""
    value, reason, message = text
    new = CustomResourceDefinitionCondition(type=type_, status=value, reason=reason, message=message)
    return structs.replace(status, conditions=conditions.with_condition(status.conditions, new, now))


def accepted_names(
    definition: CustomResourceDefinition, others: Iterable[CustomResourceDefinition]
) -> tuple[CustomResourceDefinitionNames, tuple[str, str, str]]:
    """Return the names that ``definition`` may use beside ``others``, and its ``NamesAccepted`` condition."""
    resources, kinds = _taken(definition, others)
    wanted = definition.spec.names
    own = definition.status.accepted_names or CustomResourceDefinitionNames()
    accepted, problem = own, ("", "")
    for field, reason, taken in (
        ("plural", "PluralConflict", resources),
        ("singular", "SingularConflict", resources),
        ("short_names", "ShortNamesConflict", resources),
        ("kind", "KindConflict", kinds),
        ("list_kind", "ListKindConflict", kinds),
    ):
        value = getattr(wanted, field)
        asked = value if isinstance(value, tuple) else (value,)
        mine = (own.plural, own.singular, own.kind, own.list_kind, *own.short_names)
        found = [
            f"{json.dumps(each)} is already in use" for each in asked if each in taken and each not in mine
        ]
        if found:
            problem = reason, found[0] if len(found) == 1 else f"[{', '.join(found)}]"
        else:
            accepted = structs.replace(accepted, **{field: value})
    accepted = structs.replace(accepted, categories=wanted.categories)
    if problem[0]:
        return accepted, ("False", *problem)
    return accepted, ("True", "NoConflicts", "no conflicts found")


def _taken(
    definition: CustomResourceDefinition, others: Iterable[CustomResourceDefinition]
) -> tuple[set[str], set[str]]:
    resources: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        names = other.status.accepted_names
        if other.spec.group != definition.spec.group:
            continue
        if other.metadata.name == definition.metadata.name:
            continue
        resources |= {names.plural, names.singular or "", *names.short_names}
        kinds |= {names.kind, names.list_kind or ""}
    return resources - {""}, kinds - {""}


def named(
    definition: CustomResourceDefinition, others: Iterable[CustomResourceDefinition], now: datetime
) -> CustomResourceDefinitionStatus:
    """The definition's status after its names were judged; equal to the old one when nothing changes."""
    accepted, text = accepted_names(definition, others)
    status = structs.replace(definition.status, accepted_names=accepted)
    status = with_condition(status, NAMES_ACCEPTED, text, now)
    if conditions.is_true(definition.status.conditions, ESTABLISHED):
        return status
    if text[0] == "True":
        installed = ("True", "InitialNamesAccepted", "the initial names have been accepted")
        return with_condition(status, ESTABLISHED, installed, now)
    refused = ("False", "NotAccepted", "not all names are accepted")
    return with_condition(status, ESTABLISHED, refused, now)

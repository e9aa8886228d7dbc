"""Validation of the conditions of a status. Upstream: ``ValidateConditions`` of ``meta/v1/validation``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from podling.api.meta_v1 import Condition
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.machinery import fields, names
from podling.machinery.fields import Path

STATUSES = ("False", "True", "Unknown")
LONGEST_REASON = 1024
LONGEST_MESSAGE = 32 * 1024
_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON_TEXT = names.regex_error(
    "a condition reason must start with alphabetic character, optionally followed by a string of "
    "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
    _REASON, "my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB",
)  # fmt: skip


def condition_errors(path: Path, conditions: Sequence[Condition]) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for position, condition in enumerate(conditions):
        here = path.index(position)
        errors += [fields.duplicate(here.child("type"), condition.type)] if condition.type in seen else []
        seen.add(condition.type)
        errors += _condition_errors(here, condition)
    return errors


def _condition_errors(path: Path, condition: Condition) -> Errors:
    errors = checks.label_name(path.child("type"), condition.type)
    if condition.status not in STATUSES:
        errors.append(fields.not_supported(path.child("status"), condition.status, STATUSES))
    generation = condition.observed_generation or 0
    if generation < 0:
        text = "must be greater than or equal to zero"
        errors.append(fields.invalid(path.child("observedGeneration"), generation, text))
    if condition.last_transition_time is None:
        errors.append(fields.required(path.child("lastTransitionTime"), "must be set"))
    where = path.child("reason")
    if not condition.reason:
        errors.append(fields.required(where, "must be set"))
    elif not re.fullmatch(_REASON, condition.reason):
        errors.append(fields.invalid(where, condition.reason, _REASON_TEXT))
    if len(condition.reason.encode()) > LONGEST_REASON:
        errors.append(fields.too_long(where, LONGEST_REASON))
    if len(condition.message.encode()) > LONGEST_MESSAGE:
        errors.append(fields.too_long(path.child("message"), LONGEST_MESSAGE))
    return errors

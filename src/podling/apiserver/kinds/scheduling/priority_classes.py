"""PriorityClasses: rules and table.

Upstream: ``pkg/apis/scheduling/validation``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from podling.api.scheduling_v1 import PriorityClass
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import AGE, NAME, age
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, fill_absent
from podling.machinery import fields
from podling.machinery.fields import Path
from podling.machinery.pods import HIGHEST_USER_PRIORITY, SYSTEM_PRIORITIES
from podling.machinery.tables import Column


def _system_class_problem(name: str, value: int, global_default: bool) -> str:
    """Return the reason why a ``system-`` class is not one of Kubernetes' own; empty if it is."""
    wanted = SYSTEM_PRIORITIES.get(name)
    if wanted is None:
        return f"{name} is not a known system priority class"
    if value != wanted:
        return f"value of {name} PriorityClass must be {wanted}"
    return f"globalDefault of {name} PriorityClass must be false" if global_default else ""


class PriorityClassRules(KindRules[PriorityClass]):
    columns = (
        NAME,
        Column("Value", type="integer", description="The priority of the class' pods"),
        Column("Global-Default", type="boolean", description="Whether pods without a class get this one"),
        AGE,
        Column("PreemptionPolicy", description="Whether pods of the class may preempt others"),
    )

    def default(self, obj: PriorityClass) -> PriorityClass:
        return fill_absent(obj, preemption_policy="PreemptLowerPriority")

    def prepare_create(self, obj: PriorityClass, context: Context) -> PriorityClass:
        return change(obj, metadata=change(obj.metadata, generation=1))

    def validate(self, obj: PriorityClass, context: Context) -> Errors:
        name, value = obj.metadata.name or "", obj.value or 0
        errors: Errors = []
        if name.startswith("system-"):
            problem = _system_class_problem(name, value, bool(obj.global_default))
            if problem:
                text = "priority class names with 'system-' prefix are reserved for system use only. error: "
                errors.append(fields.forbidden(Path("metadata.name"), text + problem))
        elif value > HIGHEST_USER_PRIORITY:
            text = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
            errors.append(fields.forbidden(Path("value"), text))
        policies = ("PreemptLowerPriority", "Never")
        return errors + checks.required_one_of(Path("preemptionPolicy"), obj.preemption_policy, policies)

    def validate_update(self, new: PriorityClass, old: PriorityClass, context: Context) -> Errors:
        errors: Errors = []
        if (new.value or 0) != (old.value or 0):
            errors.append(fields.forbidden(Path("value"), "may not be changed in an update."))
        policy = new.preemption_policy
        return errors + checks.immutable(Path("preemptionPolicy"), policy, old.preemption_policy)

    def row(self, obj: PriorityClass, now: datetime) -> Sequence[Any]:
        default = obj.global_default is True
        return obj.metadata.name, obj.value or 0, default, age(obj, now), obj.preemption_policy or ""

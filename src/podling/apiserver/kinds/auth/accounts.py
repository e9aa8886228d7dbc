"""ServiceAccounts, Leases and PriorityClasses: small kinds with few rules.

Upstream: ``pkg/registry/core/serviceaccount``, ``pkg/apis/coordination/validation``,
``pkg/apis/scheduling/validation``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from podling.api.coordination_v1 import Lease
from podling.api.core_v1 import ObjectReference, ServiceAccount
from podling.api.scheduling_v1 import PriorityClass
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import AGE, NAME, age
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, each, fill_absent
from podling.machinery import fields, names
from podling.machinery.fields import Path
from podling.machinery.pods import HIGHEST_USER_PRIORITY
from podling.machinery.tables import Column

SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""The classes that Kubernetes itself has, and the only ones whose names begin with ``system-``."""

LEASE_STRATEGIES = ("OldestEmulationVersion",)


MOUNTABLE_ONLY = "kubernetes.io/enforce-mountable-secrets"
"""Whether the account's pods may use no other secrets than those it lists."""


class ServiceAccountRules(KindRules[ServiceAccount]):
    returns_deleted = True
    columns = (NAME, Column("Secrets", description="How many secrets the account lists"), AGE)

    def prepare_create(self, obj: ServiceAccount, context: Context) -> ServiceAccount:
        return change(obj, secrets=each(obj.secrets, _named_only))

    def prepare_update(self, new: ServiceAccount, old: ServiceAccount, context: Context) -> ServiceAccount:
        return change(new, secrets=each(new.secrets, _named_only))

    def warnings(self, obj: ServiceAccount, old: ServiceAccount | None, context: Context) -> list[str]:
        """Told once, when the annotation is new."""
        if old is not None and MOUNTABLE_ONLY in old.metadata.annotations:
            return []
        if MOUNTABLE_ONLY not in obj.metadata.annotations:
            return []
        where = Path("metadata.annotations").key(MOUNTABLE_ONLY)
        why = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        return [f"{where}: {why}"]

    def row(self, obj: ServiceAccount, now: datetime) -> Sequence[Any]:
        return obj.metadata.name, len(obj.secrets), age(obj, now)


def _named_only(secret: ObjectReference) -> ObjectReference:
    """A secret of the account is one of its namespace: only the name counts."""
    bare = ObjectReference(name=secret.name)
    return secret if secret == bare else bare


class LeaseRules(KindRules[Lease]):
    create_on_update = True
    unconditional_update = False
    columns = (NAME, Column("Holder", description="Who holds the lease"), AGE)

    def validate(self, obj: Lease, context: Context) -> Errors:
        spec, path = obj.spec, Path("spec")
        errors: Errors = []
        seconds = spec.lease_duration_seconds
        if seconds is not None and seconds <= 0:
            errors.append(
                fields.invalid(path.child("leaseDurationSeconds"), seconds, "must be greater than 0")
            )
        errors += checks.non_negative(path.child("leaseTransitions"), spec.lease_transitions)
        if spec.strategy is not None:
            errors += _strategy_errors(path.child("strategy", "strategy"), spec.strategy)
        if spec.preferred_holder and not spec.strategy:
            text = "may only be specified if `strategy` is defined"
            errors.append(fields.forbidden(path.child("preferredHolder"), text))
        return errors

    def row(self, obj: Lease, now: datetime) -> Sequence[Any]:
        return obj.metadata.name, obj.spec.holder_identity or "", age(obj, now)


def _strategy_errors(path: Path, strategy: str) -> Errors:
    """``path`` names the field twice, as Kubernetes does."""
    if "/" in strategy:
        return checks.invalid_each(path, strategy, names.qualified_name_errors(strategy))
    known = strategy in LEASE_STRATEGIES
    return [] if known else [fields.not_supported(path, strategy, LEASE_STRATEGIES)]


def _system_class_problem(name: str, value: int, global_default: bool) -> str:
    """Why a class is none of those that Kubernetes itself has."""
    wanted = SYSTEM_CLASSES.get(name)
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

"""Leases: rules and table.

Upstream: ``pkg/apis/coordination/validation``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from podling.api.coordination_v1 import Lease
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import AGE, NAME, age
from podling.apiserver.kinds.common.checks import Errors
from podling.machinery import fields, names
from podling.machinery.fields import Path
from podling.machinery.tables import Column

LEASE_STRATEGIES = ("OldestEmulationVersion",)


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
    """Return the errors in a strategy. ``path`` repeats the field's name, as Kubernetes does."""
    if "/" in strategy:
        return fields.invalid_each(path, strategy, names.qualified_name_errors(strategy))
    known = strategy in LEASE_STRATEGIES
    return [] if known else [fields.not_supported(path, strategy, LEASE_STRATEGIES)]

"""PodDisruptionBudgets. Upstream: ``pkg/apis/policy/validation``, ``pkg/registry/policy``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from podling.api.policy_v1 import PodDisruptionBudget
from podling.apiserver.kinds.apps.deployments import percentage_errors
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import AGE, NAME, age
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.condition_validation import condition_errors
from podling.machinery import fields, label_checks
from podling.machinery.fields import Path
from podling.machinery.tables import Column

SPEC = Path("spec")
EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
_COUNTS = (
    ("disruptionsAllowed", "disruptions_allowed"),
    ("currentHealthy", "current_healthy"),
    ("desiredHealthy", "desired_healthy"),
    ("expectedPods", "expected_pods"),
)


class DisruptionBudgetRules(KindRules[PodDisruptionBudget]):
    status_subresource = True
    generation = True
    unconditional_update = False
    columns = (
        NAME,
        Column("Min Available", description="Pods that must stay"),
        Column("Max Unavailable", description="Pods that may be away"),
        Column("Allowed Disruptions", type="integer", description="Pods that may be evicted now"),
        AGE,
    )

    def validate(self, obj: PodDisruptionBudget, context: Context) -> Errors:
        spec = obj.spec
        errors: Errors = []
        if spec.min_available is not None and spec.max_unavailable is not None:
            text = "minAvailable and maxUnavailable cannot be both set"
            shown = fields.in_go(
                MinAvailable=spec.min_available,
                Selector=spec.selector,
                MaxUnavailable=spec.max_unavailable,
                UnhealthyPodEvictionPolicy=spec.unhealthy_pod_eviction_policy,
            )
            errors.append(fields.invalid(SPEC, shown, text))
        for name, value in (("minAvailable", spec.min_available), ("maxUnavailable", spec.max_unavailable)):
            where = SPEC.child(name)
            errors += checks.int_or_percent(where, value) + percentage_errors(where, value)
        errors += label_checks.label_selector(SPEC.child("selector"), spec.selector)
        policy = spec.unhealthy_pod_eviction_policy
        return errors + checks.one_of(SPEC.child("unhealthyPodEvictionPolicy"), policy, EVICTION_POLICIES)

    def validate_update(self, new: PodDisruptionBudget, old: PodDisruptionBudget, context: Context) -> Errors:
        if context.subresource != "status":
            return self.validate(new, context)
        errors = condition_errors(Path("status.conditions"), new.status.conditions)
        for name, attribute in _COUNTS:
            errors += checks.non_negative(Path("status").child(name), getattr(new.status, attribute))
        return errors

    def row(self, obj: PodDisruptionBudget, now: datetime) -> Sequence[Any]:
        spec = obj.spec
        return (
            obj.metadata.name,
            "N/A" if spec.min_available is None else str(spec.min_available),
            "N/A" if spec.max_unavailable is None else str(spec.max_unavailable),
            obj.status.disruptions_allowed or 0,
            age(obj, now),
        )

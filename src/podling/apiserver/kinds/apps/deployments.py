"""Deployments. Upstream: ``pkg/apis/apps``, ``pkg/registry/apps/deployment``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

from podling.api.apps_v1 import (
    Deployment,
    DeploymentStrategy,
    RollingUpdateDaemonSet,
    RollingUpdateDeployment,
)
from podling.apiserver.kinds.apps.workloads import (
    SCALE,
    SPEC,
    name_warnings,
    ready_text,
    selector_errors,
    status_errors,
    template_errors,
    workload_warnings,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import (
    AGE,
    NAME,
    POD_TEMPLATE_COLUMNS,
    age,
    selector_text,
    template_cells,
)
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, fill_absent, fill_empty
from podling.apiserver.kinds.pod.pod_defaults import default_pod_template
from podling.machinery import fields
from podling.machinery.fields import Path
from podling.machinery.numbers import INT64_MAX, natural
from podling.machinery.tables import Column

RECREATE = "Recreate"
ROLLING_UPDATE = "RollingUpdate"
COUNTS = {
    "observedGeneration": "observed_generation",
    "replicas": "replicas",
    "updatedReplicas": "updated_replicas",
    "readyReplicas": "ready_replicas",
    "availableReplicas": "available_replicas",
    "unavailableReplicas": "unavailable_replicas",
    "terminatingReplicas": "terminating_replicas",
    "collisionCount": "collision_count",
}
PARTS = ("updatedReplicas", "readyReplicas", "availableReplicas")
"""Counts in the status that may not exceed its replicas."""


class DeploymentRules(KindRules[Deployment]):
    status_subresource = True
    generation = True
    subresources = MappingProxyType({"scale": SCALE})
    columns = (
        NAME,
        Column("Ready", description="Pods that are ready, of those wanted"),
        Column("Up-to-date", description="Pods made from the present template"),
        Column("Available", description="Pods that have been ready for long enough"),
        AGE,
        *POD_TEMPLATE_COLUMNS,
    )

    def prepare_update(self, new: Deployment, old: Deployment, context: Context) -> Deployment:
        prepared = super().prepare_update(new, old, context)
        if context.subresource != "status":
            return prepared
        return change(prepared, metadata=change(prepared.metadata, labels=old.metadata.labels))

    def intent(self, obj: Deployment) -> Any:
        """Return the spec and the annotations: annotations are passed on to the replica sets."""
        return obj.spec, obj.metadata.annotations

    def default(self, obj: Deployment) -> Deployment:
        spec = fill_absent(obj.spec, replicas=1, revision_history_limit=10, progress_deadline_seconds=600)
        spec = change(
            spec, strategy=_default_strategy(spec.strategy), template=default_pod_template(spec.template)
        )
        return change(obj, spec=spec)

    def validate(self, obj: Deployment, context: Context) -> Errors:
        spec = obj.spec
        errors = checks.non_negative(SPEC.child("replicas"), spec.replicas)
        errors += selector_errors(spec.selector)
        errors += template_errors(spec.template, spec.selector, "ReplicaSet")
        errors += _strategy_errors(SPEC.child("strategy"), spec.strategy)
        errors += checks.non_negative(SPEC.child("minReadySeconds"), spec.min_ready_seconds)
        errors += checks.non_negative(SPEC.child("revisionHistoryLimit"), spec.revision_history_limit)
        deadline = spec.progress_deadline_seconds
        if deadline is not None:
            where = SPEC.child("progressDeadlineSeconds")
            errors += checks.non_negative(where, deadline)
            if deadline <= (spec.min_ready_seconds or 0):
                errors.append(fields.invalid(where, deadline, "must be greater than minReadySeconds"))
        return errors

    def validate_update(self, new: Deployment, old: Deployment, context: Context) -> Errors:
        if context.subresource == "status":
            return status_errors(new.status, old.status, COUNTS, PARTS, "readyReplicas")
        errors = self.validate(new, context)
        return errors + checks.immutable(SPEC.child("selector"), new.spec.selector, old.spec.selector)

    def warnings(self, obj: Deployment, old: Deployment | None, context: Context) -> list[str]:
        if context.subresource == "status":
            return []
        return name_warnings(obj, old) + workload_warnings(obj, old, self.intent)

    def row(self, obj: Deployment, now: datetime) -> Sequence[Any]:
        return (
            obj.metadata.name,
            ready_text(obj.status.ready_replicas, obj.spec.replicas),
            obj.status.updated_replicas or 0,
            obj.status.available_replicas or 0,
            age(obj, now),
            *template_cells(obj.spec.template.spec),
            selector_text(obj.spec.selector),
        )


def _default_strategy(strategy: DeploymentStrategy) -> DeploymentStrategy:
    strategy = fill_empty(strategy, type=ROLLING_UPDATE)
    if strategy.type != ROLLING_UPDATE:
        return strategy
    rolling = strategy.rolling_update or RollingUpdateDeployment()
    return change(strategy, rolling_update=fill_absent(rolling, max_unavailable="25%", max_surge="25%"))


def _strategy_errors(path: Path, strategy: DeploymentStrategy) -> Errors:
    if strategy.type == RECREATE:
        if strategy.rolling_update is None:
            return []
        text = "may not be specified when strategy `type` is 'Recreate'"
        return [fields.forbidden(path.child("rollingUpdate"), text)]
    if strategy.type != ROLLING_UPDATE:
        shown = fields.in_go(Type=strategy.type, RollingUpdate=show_rolling_update(strategy.rolling_update))
        return [fields.not_supported(path, shown, (RECREATE, ROLLING_UPDATE))]
    rolling = strategy.rolling_update or RollingUpdateDeployment()
    here = path.child("rollingUpdate")
    errors = checks.int_or_percent(here.child("maxUnavailable"), rolling.max_unavailable)
    errors += checks.int_or_percent(here.child("maxSurge"), rolling.max_surge)
    if is_zero(rolling.max_unavailable) and is_zero(rolling.max_surge):
        text = "may not be 0 when `maxSurge` is 0"
        errors.append(fields.invalid(here.child("maxUnavailable"), rolling.max_unavailable, text))
    return errors + percentage_errors(here.child("maxUnavailable"), rolling.max_unavailable)


def show_rolling_update(
    rolling: RollingUpdateDeployment | RollingUpdateDaemonSet | None,
) -> fields.Shown | None:
    """Return the form in which messages show the rolling update settings of an unknown strategy type."""
    if rolling is None:
        return None
    return fields.in_go(MaxUnavailable=rolling.max_unavailable or 0, MaxSurge=rolling.max_surge or 0)


def is_zero(value: int | str | None) -> bool:
    """Return whether a number or percentage of pods is zero, or is neither a number nor a percentage."""
    if not isinstance(value, str):
        return not value
    return not natural(value.removesuffix("%"), INT64_MAX)


def percentage_errors(path: Path, value: int | str | None) -> Errors:
    """Return an error for a percentage of more than 100."""
    if not isinstance(value, str) or not value.endswith("%"):
        return []
    if (natural(value[:-1], INT64_MAX) or 0) > 100:
        return [fields.invalid(path, value, "must not be greater than 100%")]
    return []

"""DaemonSets. Upstream: ``pkg/apis/apps``, ``pkg/registry/apps/daemonset``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from podling.api.apps_v1 import (
    DaemonSet,
    DaemonSetStatus,
    DaemonSetUpdateStrategy,
    RollingUpdateDaemonSet,
)
from podling.apiserver.kinds.apps.deployments import (
    ROLLING_UPDATE,
    is_zero,
    percentage_errors,
    show_rolling_update,
)
from podling.apiserver.kinds.apps.workloads import (
    SPEC,
    collision_errors,
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
    label_text,
    selector_text,
    template_cells,
)
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, fill_absent, fill_empty
from podling.apiserver.kinds.pod.pod_defaults import default_pod_template
from podling.machinery import fields, label_checks
from podling.machinery.encoding import codec
from podling.machinery.fields import Path
from podling.machinery.pods import TEMPLATE_GENERATION
from podling.machinery.tables import Column

ON_DELETE = "OnDelete"
COUNTS = (
    "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady",
    "observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable",
    "collisionCount",
)  # fmt: skip


class DaemonSetRules(KindRules[DaemonSet]):
    status_subresource = True
    generation = True
    columns = (
        NAME,
        Column("Desired", type="integer", description="Nodes that should run the pod"),
        Column("Current", type="integer", description="Nodes that run the pod"),
        Column("Ready", type="integer", description="Nodes whose pod is ready"),
        Column("Up-to-date", type="integer", description="Nodes whose pod is of the present template"),
        Column("Available", type="integer", description="Nodes whose pod has been ready for long enough"),
        Column("Node Selector", description="Which nodes run the pod"),
        AGE,
        *POD_TEMPLATE_COLUMNS,
    )

    def prepare_create(self, obj: DaemonSet, context: Context) -> DaemonSet:
        return _with_template_generation(super().prepare_create(obj, context), _template_generation(obj))

    def prepare_update(self, new: DaemonSet, old: DaemonSet, context: Context) -> DaemonSet:
        prepared = super().prepare_update(new, old, context)
        return _with_template_generation(
            prepared, _template_generation(old) + (prepared.spec.template != old.spec.template)
        )

    def default(self, obj: DaemonSet) -> DaemonSet:
        spec = fill_absent(obj.spec, revision_history_limit=10)
        spec = change(
            spec,
            update_strategy=_default_strategy(spec.update_strategy),
            template=default_pod_template(spec.template),
        )
        return change(obj, spec=spec)

    def validate(self, obj: DaemonSet, context: Context) -> Errors:
        spec = obj.spec
        errors = label_checks.label_selector(SPEC.child("selector"), spec.selector)
        errors += template_errors(spec.template, spec.selector, "DaemonSet")
        errors += checks.non_negative(SPEC.child("minReadySeconds"), spec.min_ready_seconds)
        errors += _strategy_errors(SPEC.child("updateStrategy"), spec.update_strategy)
        return errors + checks.non_negative(SPEC.child("revisionHistoryLimit"), spec.revision_history_limit)

    def validate_update(self, new: DaemonSet, old: DaemonSet, context: Context) -> Errors:
        if context.subresource == "status":
            return _status_errors(new.status, old.status)
        errors = self.validate(new, context)
        return errors + checks.immutable(SPEC.child("selector"), new.spec.selector, old.spec.selector)

    def warnings(self, obj: DaemonSet, old: DaemonSet | None, context: Context) -> list[str]:
        return workload_warnings(obj, old, self.intent)

    def row(self, obj: DaemonSet, now: datetime) -> Sequence[Any]:
        status = obj.status
        return (
            obj.metadata.name,
            status.desired_number_scheduled,
            status.current_number_scheduled,
            status.number_ready,
            status.updated_number_scheduled or 0,
            status.number_available or 0,
            label_text(obj.spec.template.spec.node_selector),
            age(obj, now),
            *template_cells(obj.spec.template.spec),
            selector_text(obj.spec.selector),
        )


def _status_errors(status: DaemonSetStatus, old: DaemonSetStatus) -> Errors:
    plain = codec.to_plain(status)
    errors: Errors = []
    for name in COUNTS:
        errors += checks.non_negative(Path("status").child(name), plain.get(name))
    return errors + collision_errors(status, old)


def _default_strategy(strategy: DaemonSetUpdateStrategy) -> DaemonSetUpdateStrategy:
    strategy = fill_empty(strategy, type=ROLLING_UPDATE)
    if strategy.type != ROLLING_UPDATE:
        return strategy
    rolling = strategy.rolling_update or RollingUpdateDaemonSet()
    return change(strategy, rolling_update=fill_absent(rolling, max_unavailable=1, max_surge=0))


def _strategy_errors(path: Path, strategy: DaemonSetUpdateStrategy) -> Errors:
    if strategy.type == ON_DELETE:
        return []
    if strategy.type != ROLLING_UPDATE:
        shown = fields.in_go(Type=strategy.type, RollingUpdate=show_rolling_update(strategy.rolling_update))
        return [fields.not_supported(path, shown, (ROLLING_UPDATE, ON_DELETE))]
    if strategy.rolling_update is None:
        return [fields.required(path.child("rollingUpdate"))]
    rolling, here = strategy.rolling_update, path.child("rollingUpdate")
    unavailable, surge = here.child("maxUnavailable"), here.child("maxSurge")
    errors = checks.int_or_percent(unavailable, rolling.max_unavailable)
    errors += checks.int_or_percent(surge, rolling.max_surge)
    errors += percentage_errors(unavailable, rolling.max_unavailable) + percentage_errors(
        surge, rolling.max_surge
    )
    if is_zero(rolling.max_unavailable) and is_zero(rolling.max_surge):
        errors.append(fields.required(unavailable, "cannot be 0 when maxSurge is 0"))
    elif not is_zero(rolling.max_unavailable) and not is_zero(rolling.max_surge):
        text = "may not be set when maxUnavailable is non-zero"
        errors.append(fields.invalid(surge, rolling.max_surge, text))
    return errors


def _template_generation(obj: DaemonSet) -> int:
    """Return the number of templates so far from the object's annotation; 1 if it is not a number."""
    said = obj.metadata.annotations.get(TEMPLATE_GENERATION, "")
    return max(1, int(said[:18])) if said.isascii() and said.isdigit() else 1


def _with_template_generation(obj: DaemonSet, number: int) -> DaemonSet:
    annotations = {**obj.metadata.annotations, TEMPLATE_GENERATION: str(number)}
    return change(obj, metadata=change(obj.metadata, annotations=annotations))

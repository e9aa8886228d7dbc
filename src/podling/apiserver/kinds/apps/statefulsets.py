"""StatefulSets. Upstream: ``pkg/apis/apps``, ``pkg/registry/apps/statefulset``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

from podling.api.apps_v1 import (
    RollingUpdateStatefulSetStrategy,
    StatefulSet,
    StatefulSetPersistentVolumeClaimRetentionPolicy,
    StatefulSetSpec,
    StatefulSetUpdateStrategy,
)
from podling.api.core_v1 import (
    PersistentVolumeClaim,
    PersistentVolumeClaimVolumeSource,
    PodTemplateSpec,
    Volume,
)
from podling.apiserver.kinds.apps.deployments import ROLLING_UPDATE, is_zero, percentage_errors
from podling.apiserver.kinds.apps.workloads import (
    SCALE,
    SPEC,
    ready_text,
    selector_errors,
    status_errors,
    template_errors,
    workload_warnings,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import AGE, NAME, age, template_cells, wide_column
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, fill_absent, fill_empty, map_items
from podling.apiserver.kinds.pod.claim_validation import claim_warnings, validate_claim_spec
from podling.apiserver.kinds.pod.pod_defaults import default_pod_template
from podling.machinery import fields, names
from podling.machinery.fields import Path
from podling.machinery.tables import Column

ON_DELETE = "OnDelete"
MANAGEMENT_POLICIES = ("OrderedReady", "Parallel")
RETENTION = ("Retain", "Delete")
COUNTS = {
    "replicas": "replicas",
    "readyReplicas": "ready_replicas",
    "currentReplicas": "current_replicas",
    "updatedReplicas": "updated_replicas",
    "availableReplicas": "available_replicas",
    "observedGeneration": "observed_generation",
    "collisionCount": "collision_count",
}
PARTS = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
"""Counts in the status that may not exceed its replicas."""
ENDLESS_HISTORY = (
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is "
    "recommended"
)
MUTABLE = (
    "replicas", "ordinals", "template", "update_strategy", "revision_history_limit",
    "persistent_volume_claim_retention_policy", "min_ready_seconds",
)  # fmt: skip
"""The fields of the spec that may change."""

ONLY_THESE = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


class StatefulSetRules(KindRules[StatefulSet]):
    status_subresource = True
    generation = True
    subresources = MappingProxyType({"scale": SCALE})
    columns = (
        NAME,
        Column("Ready", description="Pods that are ready, of those wanted"),
        AGE,
        wide_column("Containers", "Names of the template's containers"),
        wide_column("Images", "Images of the template's containers"),
    )

    def name_errors(self, name: str) -> list[str]:
        return names.dns_label_errors(name)

    def default(self, obj: StatefulSet) -> StatefulSet:
        spec = fill_absent(obj.spec, replicas=1, revision_history_limit=10)
        spec = fill_empty(spec, pod_management_policy=MANAGEMENT_POLICIES[0])
        retention = spec.persistent_volume_claim_retention_policy
        spec = change(
            spec,
            update_strategy=_default_strategy(spec.update_strategy),
            template=default_pod_template(spec.template),
            volume_claim_templates=map_items(spec.volume_claim_templates, _default_claim),
            persistent_volume_claim_retention_policy=fill_empty(
                retention or _NO_RETENTION, when_deleted="Retain", when_scaled="Retain"
            ),
        )
        return change(obj, spec=spec)

    def validate(self, obj: StatefulSet, context: Context) -> Errors:
        return _spec_errors(obj.spec, new=True)

    def validate_update(self, new: StatefulSet, old: StatefulSet, context: Context) -> Errors:
        if context.subresource == "status":
            return status_errors(new.status, old.status, COUNTS, PARTS, "status.readyReplicas")
        errors = _spec_errors(new.spec, new=False)
        kept = {name: getattr(old.spec, name) for name in MUTABLE}
        rest = change(new.spec, **kept)
        if rest != old.spec:
            errors.append(fields.forbidden(SPEC, ONLY_THESE))
        return errors

    def warnings(self, obj: StatefulSet, old: StatefulSet | None, context: Context) -> list[str]:
        if context.subresource == "status":
            return []
        found = workload_warnings(obj, old, self.intent)
        below = () if old is None else ("Spec",)  # the wording of Kubernetes
        for position, claim in enumerate(obj.spec.volume_claim_templates):
            here = SPEC.child("volumeClaimTemplates").index(position)
            found += claim_warnings(here.child(*below) if below else here, claim.spec)
        limit = obj.spec.revision_history_limit
        return found + ([ENDLESS_HISTORY] if limit is not None and limit < 0 else [])

    def row(self, obj: StatefulSet, now: datetime) -> Sequence[Any]:
        return (
            obj.metadata.name,
            ready_text(obj.status.ready_replicas, obj.spec.replicas),
            age(obj, now),
            *template_cells(obj.spec.template.spec),
        )


def _spec_errors(spec: StatefulSetSpec, *, new: bool) -> Errors:
    """Return the errors in a spec. Immutable fields are checked only when the set is ``new``."""
    policy, where = spec.pod_management_policy, SPEC.child("podManagementPolicy")
    errors: Errors = []
    if not policy:
        errors.append(fields.required(where))
    elif policy not in MANAGEMENT_POLICIES:
        errors.append(fields.invalid(where, policy, "must be 'OrderedReady' or 'Parallel'"))
    errors += _strategy_errors(SPEC.child("updateStrategy"), spec.update_strategy)
    errors += _retention_errors(SPEC.child("persistentVolumeClaimRetentionPolicy"), spec)
    if new:
        for position, claim in enumerate(spec.volume_claim_templates):
            here = SPEC.child("volumeClaimTemplates").index(position).child("spec")
            errors += validate_claim_spec(here, claim.spec)
    errors += checks.non_negative(SPEC.child("replicas"), spec.replicas)
    errors += checks.non_negative(SPEC.child("minReadySeconds"), spec.min_ready_seconds)
    if spec.ordinals is not None:
        errors += checks.non_negative(SPEC.child("ordinals.start"), spec.ordinals.start)
    if new and spec.service_name:
        errors += checks.dns_label(SPEC.child("serviceName"), spec.service_name)
    errors += selector_errors(spec.selector)
    return errors + template_errors(_pod_template(spec), spec.selector, "StatefulSet")


_NO_RETENTION = StatefulSetPersistentVolumeClaimRetentionPolicy()


def _pod_template(spec: StatefulSetSpec) -> PodTemplateSpec:
    """Return the template as in the pods: the set's name, and the volumes of its claims first."""
    template = spec.template
    claimed = dict.fromkeys(claim.metadata.name or "" for claim in spec.volume_claim_templates)
    volumes = [
        Volume(name=name, persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name=name))
        for name in claimed
    ]
    volumes += [volume for volume in template.spec.volumes if volume.name not in claimed]
    named = change(template.spec, volumes=tuple(volumes), subdomain="", hostname="")
    return change(template, spec=named)


def _default_strategy(strategy: StatefulSetUpdateStrategy) -> StatefulSetUpdateStrategy:
    strategy = fill_empty(strategy, type=ROLLING_UPDATE)
    if strategy.type != ROLLING_UPDATE:
        return strategy
    rolling = strategy.rolling_update or RollingUpdateStatefulSetStrategy()
    return change(strategy, rolling_update=fill_absent(rolling, partition=0))


def _default_claim(claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
    return change(
        claim,
        spec=fill_absent(claim.spec, volume_mode="Filesystem"),
        status=fill_empty(claim.status, phase="Pending"),
    )


def _strategy_errors(path: Path, strategy: StatefulSetUpdateStrategy) -> Errors:
    rolling = strategy.rolling_update
    if strategy.type == ON_DELETE:
        if rolling is None:
            return []
        text = "only allowed for updateStrategy 'RollingUpdate'"
        return [fields.invalid(path.child("rollingUpdate"), _show_rolling_update(rolling), text)]
    if not strategy.type:
        return [fields.required(path)]
    if strategy.type != ROLLING_UPDATE:
        text = "must be 'RollingUpdate' or 'OnDelete'"
        shown = fields.in_go(Type=strategy.type, RollingUpdate=rolling and _show_rolling_update(rolling))
        return [fields.invalid(path, shown, text)]
    if rolling is None:
        return []
    here = path.child("rollingUpdate")
    errors = checks.non_negative(here.child("partition"), rolling.partition)
    if rolling.max_unavailable is None:
        return errors
    where = here.child("maxUnavailable")
    errors += checks.int_or_percent(where, rolling.max_unavailable)
    if is_zero(rolling.max_unavailable):
        errors.append(fields.invalid(where, rolling.max_unavailable, "cannot be 0"))
    return errors + percentage_errors(where, rolling.max_unavailable)


def _show_rolling_update(rolling: RollingUpdateStatefulSetStrategy) -> fields.Shown:
    return fields.in_go(Partition=rolling.partition or 0, MaxUnavailable=rolling.max_unavailable)


def _retention_errors(path: Path, spec: StatefulSetSpec) -> Errors:
    policy = spec.persistent_volume_claim_retention_policy
    if policy is None:
        return []
    return [
        fields.not_supported(path.child(name), value, RETENTION)
        for name, value in (("whenDeleted", policy.when_deleted), ("whenScaled", policy.when_scaled))
        if value not in RETENTION
    ]

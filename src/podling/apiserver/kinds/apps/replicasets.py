"""ReplicaSets and the older ReplicationControllers.

Upstream: ``pkg/apis/apps``, ``pkg/registry/apps/replicaset``, ``pkg/registry/core/replicationcontroller``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, TypeVar

from podling.api.apps_v1 import ReplicaSet
from podling.api.core_v1 import PodTemplateSpec, ReplicationController
from podling.api.meta_v1 import LabelSelector
from podling.apiserver.kinds.apps.workloads import (
    SCALE,
    SPEC,
    TEMPLATE,
    long_running_pod_errors,
    name_warnings,
    selector_errors,
    selector_match_errors,
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
    label_text,
    selector_text,
    template_cells,
)
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, fill_absent
from podling.apiserver.kinds.pod.pod_defaults import default_pod_template
from podling.machinery import fields
from podling.machinery.tables import Column

COLUMNS = (
    NAME,
    Column("Desired", type="integer", description="Pods wanted"),
    Column("Current", type="integer", description="Pods there are"),
    Column("Ready", type="integer", description="Pods that are ready"),
    AGE,
    *POD_TEMPLATE_COLUMNS,
)

COUNTS = {
    "replicas": "replicas",
    "fullyLabeledReplicas": "fully_labeled_replicas",
    "readyReplicas": "ready_replicas",
    "availableReplicas": "available_replicas",
    "observedGeneration": "observed_generation",
}
PARTS = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
"""Counts in the status that may not exceed its replicas."""

R = TypeVar("R", ReplicaSet, ReplicationController)


class _ReplicaRules(KindRules[R]):
    """Rules of both kinds: a number of pods from a template, their scale, and one table."""

    status_subresource = True
    generation = True
    subresources = MappingProxyType({"scale": SCALE})
    columns = COLUMNS
    field_labels = ("status.replicas",)

    def validate_update(self, new: R, old: R, context: Context) -> Errors:
        if context.subresource == "status":
            return status_errors(new.status, old.status, COUNTS, PARTS, "readyReplicas")
        return self.validate(new, context)

    def warnings(self, obj: R, old: R | None, context: Context) -> list[str]:
        return name_warnings(obj, old) + workload_warnings(obj, old, self.intent)

    def selectable_fields(self, obj: R) -> dict[str, str]:
        return {"status.replicas": str(obj.status.replicas)}

    def row(self, obj: R, now: datetime) -> Sequence[Any]:
        template: PodTemplateSpec | None = obj.spec.template
        selector: LabelSelector | dict[str, str] = obj.spec.selector
        return (
            obj.metadata.name,
            obj.spec.replicas or 0,
            obj.status.replicas,
            obj.status.ready_replicas or 0,
            age(obj, now),
            *(template_cells(template.spec) if template is not None else ("", "")),
            selector_text(selector) if isinstance(selector, LabelSelector) else label_text(selector),
        )


class ReplicaSetRules(_ReplicaRules[ReplicaSet]):
    def default(self, obj: ReplicaSet) -> ReplicaSet:
        spec = fill_absent(obj.spec, replicas=1)
        spec = change(spec, template=default_pod_template(spec.template))
        return change(obj, spec=spec)

    def validate(self, obj: ReplicaSet, context: Context) -> Errors:
        spec = obj.spec
        errors = checks.non_negative(SPEC.child("replicas"), spec.replicas)
        errors += checks.non_negative(SPEC.child("minReadySeconds"), spec.min_ready_seconds)
        errors += selector_errors(spec.selector)
        return errors + template_errors(spec.template, spec.selector, "ReplicaSet")

    def validate_update(self, new: ReplicaSet, old: ReplicaSet, context: Context) -> Errors:
        errors = super().validate_update(new, old, context)
        if context.subresource == "status":
            return errors
        return errors + checks.immutable(SPEC.child("selector"), new.spec.selector, old.spec.selector)


class ReplicationControllerRules(_ReplicaRules[ReplicationController]):
    orphans_dependents = True

    def default(self, obj: ReplicationController) -> ReplicationController:
        """Return the object with the template's labels as its default labels and selector."""
        spec = fill_absent(obj.spec, replicas=1)
        if spec.template is None:
            return change(obj, spec=spec)
        labels = spec.template.metadata.labels
        spec = change(spec, template=default_pod_template(spec.template))
        if labels and not spec.selector:
            spec = change(spec, selector=dict(labels))
        metadata = obj.metadata
        if labels and not metadata.labels:
            metadata = change(metadata, labels=dict(labels))
        return change(obj, spec=spec, metadata=metadata)

    def validate(self, obj: ReplicationController, context: Context) -> Errors:
        spec = obj.spec
        errors = checks.non_negative(SPEC.child("minReadySeconds"), spec.min_ready_seconds)
        errors += [] if spec.selector else [fields.required(SPEC.child("selector"))]
        errors += checks.non_negative(SPEC.child("replicas"), spec.replicas)
        if spec.template is None:
            return [*errors, fields.required(TEMPLATE)]
        if spec.selector:
            errors += selector_match_errors(spec.template, LabelSelector(match_labels=dict(spec.selector)))
        return errors + long_running_pod_errors(spec.template, "ReplicationController")

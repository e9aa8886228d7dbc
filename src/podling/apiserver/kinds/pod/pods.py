"""Pods: the rules that join the ``pod_*`` modules.

Upstream: ``pkg/registry/core/pod/strategy.go`` and ``pkg/registry/core/pod/storage/storage.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from podling import clock
from podling.api.core_v1 import Binding, Pod, PodCondition, PodStatus
from podling.apiserver.kinds.common.base import Action, Context, KindRules, RowCondition
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change
from podling.apiserver.kinds.pod import pod_table
from podling.apiserver.kinds.pod.pod_annotations import has_app_armor, with_app_armor_fields
from podling.apiserver.kinds.pod.pod_binding import bind, validate_binding
from podling.apiserver.kinds.pod.pod_defaults import default_pod
from podling.apiserver.kinds.pod.pod_label_keys import apply_label_keys
from podling.apiserver.kinds.pod.pod_resize import keep_only_resources, validate_resize
from podling.apiserver.kinds.pod.pod_status_update import (
    keep_omitted_values,
    status_warnings,
    validate_status_update,
)
from podling.apiserver.kinds.pod.pod_unsupported import unsupported_fields
from podling.apiserver.kinds.pod.pod_update import (
    validate_ephemeral_update,
    validate_pod_update,
    with_new_managed_fields,
)
from podling.apiserver.kinds.pod.pod_validation import validate_pod_create
from podling.apiserver.kinds.pod.pod_warnings import pod_warnings
from podling.machinery.pods import is_terminal, qos_class

GATED_MESSAGE = "Scheduling is blocked due to non-empty scheduling gates"


class PodRules(KindRules[Pod]):
    status_subresource = True
    generation = True
    returns_deleted = True
    subresources = {"binding": Action(Binding, bind, validate_binding)}  # noqa: RUF012
    columns = pod_table.COLUMNS
    watch_index = "spec.nodeName"
    field_labels = (
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
        "spec.hostNetwork", "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName",
    )  # fmt: skip

    def default(self, obj: Pod) -> Pod:
        return default_pod(obj)

    def prepare_create(self, obj: Pod, context: Context) -> Pod:
        if obj.metadata.annotations and has_app_armor(obj.metadata.annotations):
            obj = with_app_armor_fields(obj)
        conditions = (_gated_condition(context.now),) if obj.spec.scheduling_gates else ()
        status = PodStatus(phase="Pending", qos_class=qos_class(obj.spec), conditions=conditions)
        return change(obj, spec=apply_label_keys(obj.spec, obj.metadata.labels), status=status)

    def prepare_update(self, new: Pod, old: Pod, context: Context) -> Pod:
        if context.subresource == "status":
            prepared = super().prepare_update(new, old, context)
            return change(prepared, status=keep_omitted_values(prepared.status, old.status))
        if context.subresource == "resize":
            return keep_only_resources(new, old)
        if context.subresource == "ephemeralcontainers":
            spec = change(old.spec, ephemeral_containers=new.spec.ephemeral_containers)
            return change(old, spec=spec, metadata=with_new_managed_fields(new.metadata, old.metadata))
        return change(new, status=old.status)

    def validate(self, obj: Pod, context: Context) -> Errors:
        return validate_pod_create(obj)

    def validate_update(self, new: Pod, old: Pod, context: Context) -> Errors:
        if context.subresource == "status":
            return validate_status_update(new, old)
        if context.subresource == "resize":
            return validate_resize(new, old)
        if context.subresource == "ephemeralcontainers":
            return validate_ephemeral_update(new, old)
        return validate_pod_update(new, old)

    def warnings(self, obj: Pod, old: Pod | None, context: Context) -> list[str]:
        """Return warnings about a new pod; later only where containers or addresses can be added."""
        if old is None:
            return pod_warnings(obj, old) + unsupported_fields(obj.spec)
        if context.subresource == "status":
            return status_warnings(obj.status)
        return unsupported_fields(obj.spec) if context.subresource == "ephemeralcontainers" else []

    def grace_for(self, obj: Pod, requested: int | None) -> int:
        """Return the requested seconds, else the pod's own; 0 for a pod that is unbound or finished."""
        if not obj.spec.node_name or is_terminal(obj):
            return 0
        grace = obj.spec.termination_grace_period_seconds or 0 if requested is None else requested
        return 1 if grace < 0 else grace

    def index_value(self, obj: Pod) -> str:
        return obj.spec.node_name or ""

    def selectable_fields(self, obj: Pod) -> dict[str, str]:
        spec, status = obj.spec, obj.status
        return {
            "spec.nodeName": spec.node_name or "",
            "spec.restartPolicy": spec.restart_policy or "",
            "spec.schedulerName": spec.scheduler_name or "",
            "spec.serviceAccountName": spec.service_account_name or "",
            "spec.hostNetwork": "true" if spec.host_network else "false",
            "status.phase": status.phase or "",
            "status.podIP": status.pod_ips[0].ip if status.pod_ips else status.pod_ip or "",
            "status.podIPs": ",".join(each.ip for each in status.pod_ips),
            "status.nominatedNodeName": status.nominated_node_name or "",
        }

    def row(self, obj: Pod, now: datetime) -> Sequence[Any]:
        return pod_table.row(obj, now)

    def row_conditions(self, obj: Pod) -> Sequence[RowCondition]:
        return pod_table.row_conditions(obj)


def _gated_condition(now: datetime) -> PodCondition:
    return PodCondition(
        type="PodScheduled",
        status="False",
        reason="SchedulingGated",
        message=GATED_MESSAGE,
        last_transition_time=clock.seconds_precision(now),
    )

"""``pods/binding``, the only subresource that assigns a pod to a node.

Upstream: ``BindingREST`` in ``pkg/registry/core/pod/storage/storage.go``.
"""

from __future__ import annotations

from podling import clock
from podling.api.core_v1 import Binding, Pod, PodCondition
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change
from podling.machinery import errors, fields
from podling.machinery.fields import Path
from podling.machinery.scheme import resource_of


def validate_binding(binding: Binding) -> Errors:
    found: Errors = []
    if binding.target.kind and binding.target.kind != "Node":
        where = Path("target").child("kind")
        found.append(fields.not_supported(where, binding.target.kind, ("Node", "<empty>")))
    if not binding.target.name:
        found.append(fields.required(Path("target").child("name")))
    return found


def bind(pod: Pod, binding: Binding, context: Context) -> Pod:
    """Return ``pod`` with the node that ``binding`` names.

    Raises 409 if the pod is being deleted, already bound, gated, or has another UID or resource version.
    """
    name = pod.metadata.name or ""
    wanted = binding.metadata
    if wanted.uid and wanted.uid != pod.metadata.uid:
        raise _precondition_error(pod, "UID", wanted.uid, pod.metadata.uid)
    if wanted.resource_version and wanted.resource_version != pod.metadata.resource_version:
        raise _precondition_error(
            pod, "ResourceVersion", wanted.resource_version, pod.metadata.resource_version
        )
    if pod.metadata.deletion_timestamp is not None:
        raise _conflict(name, f"pod {name} is being deleted, cannot be assigned to a host")
    if pod.spec.node_name:
        raise _conflict(name, f'pod {name} is already assigned to node "{pod.spec.node_name}"')
    if pod.spec.scheduling_gates:
        raise _conflict(name, f"pod {name} has non-empty .spec.schedulingGates")
    metadata = pod.metadata
    if wanted.annotations or wanted.labels:
        metadata = change(
            metadata,
            annotations={**metadata.annotations, **wanted.annotations},
            labels={**metadata.labels, **wanted.labels},
        )
    spec = change(pod.spec, node_name=binding.target.name)
    conditions = _with_scheduled_condition(pod.status.conditions, context)
    status = change(pod.status, conditions=conditions, nominated_node_name="")
    return change(pod, metadata=metadata, spec=spec, status=status)


def _precondition_error(pod: Pod, by: str, asked: str, found: str | None) -> errors.ApiError:
    name = pod.metadata.name or ""
    key = resource_of(Pod).key(pod.metadata.namespace or "", name)
    return errors.other_object("pods", "", name, key=key, asked=asked, found=found or "", by=by)


def _conflict(name: str, why: str) -> errors.ApiError:
    return errors.conflict("pods/binding", "", name, why)


def _with_scheduled_condition(
    conditions: tuple[PodCondition, ...], context: Context
) -> tuple[PodCondition, ...]:
    now = clock.seconds_precision(context.now)
    scheduled = PodCondition(type="PodScheduled", status="True", last_transition_time=now)
    if not any(found.type == "PodScheduled" for found in conditions):
        return (*conditions, scheduled)
    return tuple(scheduled if found.type == "PodScheduled" else found for found in conditions)

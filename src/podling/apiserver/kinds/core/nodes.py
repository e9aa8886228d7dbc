"""Nodes: registration and status by kubelets, and the permitted changes.

Upstream: ``pkg/registry/core/node``, ``ValidateNode`` in ``pkg/apis/core/validation/validation.go``,
``printNode`` in ``pkg/printers/internalversion/printers.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from podling.api.core_v1 import Node, Taint
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.address_warnings import cidr_warnings
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import AGE, NAME, NONE, UNKNOWN, age, join_or_none, wide_column
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change
from podling.apiserver.kinds.core.node_config_sources import config_source_errors
from podling.apiserver.kinds.pod.resource_validation import quantity_errors
from podling.apiserver.kinds.pod.scheduling_validation import TAINT_EFFECTS
from podling.machinery import fields, names
from podling.machinery.fields import ErrorType, FieldError, Path
from podling.machinery.quantity import parse
from podling.machinery.tables import Column

ROLE_PREFIX = "node-role.kubernetes.io/"
ROLE_LABEL = "kubernetes.io/role"

SPEC = Path("spec")
STATUS = Path("status")
_ONCE = 'node updates may not change {} except from "" to valid'


class NodeRules(KindRules[Node]):
    status_subresource = True
    columns = (
        NAME,
        Column("Status", description="Whether the node is ready and takes new pods"),
        Column("Roles", description="The roles that the node's labels name"),
        AGE,
        Column("Version", description="The kubelet's version"),
        wide_column("Internal-IP", "Address inside the cluster's network"),
        wide_column("External-IP", "Address from outside"),
        wide_column("OS-Image", "The operating system's name"),
        wide_column("Kernel-Version", "The kernel's version"),
        wide_column("Container-Runtime", "The container runtime and its version"),
    )
    field_labels = ("spec.unschedulable",)

    def default(self, obj: Node) -> Node:
        obj = _with_pod_cidrs(obj)
        status = obj.status
        if not status.capacity or status.allocatable:
            return obj
        return change(obj, status=change(status, allocatable=dict(status.capacity)))

    def prepare_create(self, obj: Node, context: Context) -> Node:
        """Return the node with its status: a kubelet registers both."""
        return obj

    def validate(self, obj: Node, context: Context) -> Errors:
        errors = taint_errors(Path("metadata.taints"), obj.spec.taints)
        errors += _resource_errors(obj)
        return errors + _pod_cidr_errors(SPEC.child("podCIDRs"), obj.spec.pod_cidrs)

    def validate_update(self, new: Node, old: Node, context: Context) -> Errors:
        errors = [] if context.subresource == "status" else self.validate(new, context)
        errors += _resource_errors(new)
        seen = set()
        for position, address in enumerate(new.status.addresses):
            key = (address.type, address.address)
            if key in seen:
                where = STATUS.child("addresses").index(position)
                errors.append(fields.duplicate(where, address))
            seen.add(key)
        errors += _pod_cidr_change_errors(new.spec.pod_cidrs, old.spec.pod_cidrs)
        if old.spec.provider_id and new.spec.provider_id != old.spec.provider_id:
            errors.append(fields.forbidden(SPEC.child("providerID"), _ONCE.format("providerID")))
        errors += config_source_errors(new) + taint_errors(Path("metadata.taints"), new.spec.taints)
        if new.spec.external_id != old.spec.external_id:
            errors.append(fields.forbidden(SPEC.child("externalID"), "may not be updated"))
        return errors

    def warnings(self, obj: Node, old: Node | None, context: Context) -> list[str]:
        found: list[str] = []
        if obj.spec.config_source is not None:
            found.append("spec.configSource: the feature is removed")
        if obj.spec.external_id:
            found.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
        for position, block in enumerate(obj.spec.pod_cidrs):
            found += cidr_warnings(SPEC.child("podCIDRs").index(position), block)
        return found

    def selectable_fields(self, obj: Node) -> dict[str, str]:
        return {"spec.unschedulable": "true" if obj.spec.unschedulable else "false"}

    def row(self, obj: Node, now: datetime) -> Sequence[Any]:
        info = obj.status.node_info
        return (
            obj.metadata.name,
            node_status(obj),
            ",".join(roles(obj)) or NONE,
            age(obj, now),
            info.kubelet_version,
            _address(obj, "InternalIP"),
            _address(obj, "ExternalIP"),
            info.os_image or UNKNOWN,
            info.kernel_version or UNKNOWN,
            info.container_runtime_version or UNKNOWN,
        )


def node_status(node: Node) -> str:
    """Return the STATUS cell: readiness, and ``SchedulingDisabled`` for a cordoned node."""
    ready = next((each.status for each in node.status.conditions if each.type == "Ready"), None)
    words = ["Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"]
    return join_or_none(words + (["SchedulingDisabled"] if node.spec.unschedulable else []))


def roles(node: Node) -> list[str]:
    """Return the roles in a node's labels, sorted."""
    labels = node.metadata.labels
    found = {key.removeprefix(ROLE_PREFIX) for key in labels if key.startswith(ROLE_PREFIX)}
    found.add(labels.get(ROLE_LABEL, ""))
    return sorted(role for role in found if role)


def _address(node: Node, type_: str) -> str:
    return next((each.address for each in node.status.addresses if each.type == type_), NONE)


def taint_errors(path: Path, taints: Sequence[Taint]) -> Errors:
    errors: Errors = []
    seen: set[tuple[str, str]] = set()
    for position, taint in enumerate(taints):
        here = path.index(position)
        errors += checks.label_name(here.child("key"), taint.key)
        problems = names.label_value_errors(taint.value or "")
        if problems:
            errors.append(fields.invalid(here.child("value"), taint.value, ";".join(problems)))
        errors += checks.required_one_of(here.child("effect"), taint.effect, TAINT_EFFECTS)
        if (taint.effect, taint.key) in seen:
            text = "taints must be unique by key and effect pair"
            errors.append(FieldError(ErrorType.DUPLICATE, str(here), taint, text))
        seen.add((taint.effect, taint.key))
    return errors


def _resource_errors(node: Node) -> Errors:
    errors: Errors = []
    for field, resources in (("capacity", node.status.capacity), ("allocatable", node.status.allocatable)):
        for name, value in resources.items():
            errors += quantity_errors(STATUS.child(field, name), name, parse(value))
    return errors


def _with_pod_cidrs(node: Node) -> Node:
    """Return the node with ``podCIDR`` and the first of ``podCIDRs`` equal; ``podCIDR`` takes precedence."""
    spec = node.spec
    blocks = spec.pod_cidrs
    if spec.pod_cidr and spec.pod_cidr != (blocks or ("",))[0]:
        blocks = (spec.pod_cidr,)
    if not blocks or (blocks == spec.pod_cidrs and spec.pod_cidr):
        return node
    return change(node, spec=change(spec, pod_cidrs=blocks, pod_cidr=blocks[0]))


def _pod_cidr_change_errors(new: Sequence[str], old: Sequence[str]) -> Errors:
    """Return an error for each CIDR that changed after it was set, or for a changed number of CIDRs."""
    changed = 1 if len(new) != len(old) else sum(a != b for a, b in zip(new, old, strict=True))
    return [fields.forbidden(SPEC.child("podCIDRs"), _ONCE.format("podCIDR"))] * changed if old else []


def _pod_cidr_errors(path: Path, blocks: Sequence[str]) -> Errors:
    errors: Errors = []
    for position, block in enumerate(blocks):
        errors += checks.cidr(path.index(position), block)
    families = [":" in block for block in blocks]
    if len(families) != len(set(families)):
        text = "may specify no more than one CIDR for each IP family"
        errors.append(fields.invalid(path, blocks, text))
    for position, block in enumerate(blocks):
        errors += [fields.duplicate(path.index(position), block)] if block in blocks[:position] else []
    return errors

"""Tables of kinds that need only columns and a function for their cells.

Most of these kinds have no other rules; the rules of the others inherit from ``TableRules``.

Upstream: ``pkg/printers/internalversion/printers.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from podling.apiserver.kinds.common.base import KindRules
from podling.apiserver.kinds.common.cells import (
    AGE,
    NAME,
    NONE,
    UNSET,
    age,
    join_or_none,
    label_text,
    selector_struct,
    template_cells,
    value_or_none,
)
from podling.machinery.tables import Column, human_duration

Cells = Callable[[Any, datetime], Sequence[Any]]


T = TypeVar("T", bound=Any)


class TableRules(KindRules[T]):
    """The generic rules with the kind's row of ``TABLES``, if it has one."""

    def __init__(self, columns: Sequence[Column] = (), cells: Cells | None = None) -> None:
        self.columns = (NAME, *columns) if columns else ()
        self._cells = cells

    def row(self, obj: T, now: datetime) -> Sequence[Any]:
        return (obj.metadata.name, *self._cells(obj, now)) if self._cells is not None else ()


def _controller(obj: Any) -> str:
    """Return the controller of an object as ``kind/name``."""
    owner = next((owner for owner in obj.metadata.owner_references if owner.controller), None)
    if owner is None:
        return NONE
    group = owner.api_version.partition("/")[0] if "/" in owner.api_version else ""
    kind = owner.kind.lower()
    return f"{kind}.{group}/{owner.name}" if group else f"{kind}/{owner.name}"


def _service_of(obj: Any) -> str:
    service = obj.spec.service
    return "Local" if service is None else f"{service.namespace}/{service.name}"


def _available(obj: Any) -> str:
    found = next((each for each in obj.status.conditions if each.type == "Available"), None)
    if found is None:
        return "Unknown"
    return "True" if found.status == "True" else f"{found.status} ({found.reason})"


def _request_condition(obj: Any) -> str:
    """Return the *Condition* cell of a CertificateSigningRequest."""
    types = [each.type for each in obj.status.conditions]
    first = next((word for word in ("Denied", "Approved") if word in types), "Pending")
    states = [first, *(["Failed"] if "Failed" in types else [])]
    return ",".join(states + (["Issued"] if obj.status.certificate else []))


def _parameters(obj: Any) -> str:
    found = obj.spec.parameters
    if found is None:
        return NONE
    return f"{found.kind}.{found.api_group}/{found.name}" if found.api_group else f"{found.kind}/{found.name}"


def _concurrency(obj: Any) -> tuple[Any, ...]:
    """Return the shares and queue settings of a priority level; ``<none>`` for an exempt one."""
    limited = obj.spec.limited
    if limited is None:
        return NONE, NONE, NONE, NONE
    shares = limited.nominal_concurrency_shares
    queuing = limited.limit_response.queuing if limited.limit_response is not None else None
    if queuing is None:
        return shares, NONE, NONE, NONE
    return shares, queuing.queues, queuing.hand_size, queuing.queue_length_limit


def _parent(obj: Any) -> str:
    """Return the parent of an IPAddress as ``resource.group/namespace/name``."""
    ref = obj.spec.parent_ref
    resource = f"{ref.resource}.{ref.group}" if ref.group else ref.resource
    return "/".join([resource.lower(), *([ref.namespace] if ref.namespace else []), ref.name])


def _claim_state(obj: Any) -> str:
    deleted = obj.metadata.deletion_timestamp is not None
    states = ["deleted"] if deleted else []
    if obj.status.allocation is None:
        return ",".join(states or ["pending"])
    return ",".join([*states, "allocated", *(["reserved"] if obj.status.reserved_for else [])])


def _param_kind(obj: Any) -> str:
    kind = obj.spec.param_kind
    return UNSET if kind is None else f"{kind.api_version}/{kind.kind}"


def _param_ref(obj: Any) -> str:
    """Return the parameters of a binding: ``namespace/name`` (``*``: the object's own) or a selector."""
    ref = obj.spec.param_ref
    if ref is None:
        return UNSET
    if ref.name:
        return f"{ref.namespace or '*'}/{ref.name}"
    return UNSET if ref.selector is None else selector_struct(ref.selector)


def _binding(obj: Any, now: datetime) -> Sequence[Any]:
    return obj.spec.policy_name, _param_ref(obj), age(obj, now)


_BINDING_COLUMNS = (Column("PolicyName"), Column("ParamRef"), AGE)


TABLES: dict[tuple[str, str], tuple[Sequence[Column], Cells]] = {
    ("", "podtemplates"): (
        (Column("Containers"), Column("Images"), Column("Pod Labels")),
        lambda obj, now: (*template_cells(obj.template.spec), label_text(obj.template.metadata.labels)),
    ),
    ("apps", "controllerrevisions"): (
        (Column("Controller"), Column("Revision"), AGE),
        lambda obj, now: (_controller(obj), obj.revision, age(obj, now)),
    ),
    ("node.k8s.io", "runtimeclasses"): (
        (Column("Handler"), AGE),
        lambda obj, now: (obj.handler, age(obj, now)),
    ),
    ("networking.k8s.io", "ingressclasses"): (
        (Column("Controller"), Column("Parameters"), AGE),
        lambda obj, now: (obj.spec.controller or "", _parameters(obj), age(obj, now)),
    ),
    ("networking.k8s.io", "servicecidrs"): (
        (Column("CIDRs"), AGE),
        lambda obj, now: (",".join(obj.spec.cidrs), age(obj, now)),
    ),
    ("networking.k8s.io", "ipaddresses"): (
        (Column("ParentRef"),),
        lambda obj, now: (_parent(obj),),
    ),
    ("storage.k8s.io", "csinodes"): (
        (Column("Drivers", type="integer"), AGE),
        lambda obj, now: (len(obj.spec.drivers), age(obj, now)),
    ),
    ("storage.k8s.io", "csidrivers"): (
        (
            Column("AttachRequired", type="boolean"),
            Column("PodInfoOnMount", type="boolean"),
            Column("StorageCapacity", type="boolean"),
            Column("TokenRequests"),
            Column("RequiresRepublish", type="boolean"),
            Column("Modes"),
            AGE,
        ),
        lambda obj, now: (
            obj.spec.attach_required is not False,
            obj.spec.pod_info_on_mount is True,
            obj.spec.storage_capacity is True,
            ",".join(each.audience for each in obj.spec.token_requests) or UNSET,
            obj.spec.requires_republish is True,
            join_or_none(obj.spec.volume_lifecycle_modes),
            age(obj, now),
        ),
    ),
    ("storage.k8s.io", "csistoragecapacities"): (
        (Column("StorageClassName"), Column("Capacity")),
        lambda obj, now: (obj.storage_class_name, obj.capacity or UNSET),
    ),
    ("storage.k8s.io", "volumeattachments"): (
        (
            Column("Attacher", format="name"),
            Column("PV"),
            Column("Node"),
            Column("Attached", type="boolean"),
            AGE,
        ),
        lambda obj, now: (
            obj.spec.attacher,
            obj.spec.source.persistent_volume_name or "",
            obj.spec.node_name,
            obj.status.attached,
            age(obj, now),
        ),
    ),
    ("storage.k8s.io", "volumeattributesclasses"): (
        (Column("DriverName"), AGE),
        lambda obj, now: (obj.driver_name, age(obj, now)),
    ),
    ("certificates.k8s.io", "certificatesigningrequests"): (
        (
            AGE,
            Column("SignerName"),
            Column("Requestor"),
            Column("RequestedDuration"),
            Column("Condition"),
        ),
        lambda obj, now: (
            age(obj, now),
            value_or_none(obj.spec.signer_name),
            obj.spec.username or "",
            NONE
            if obj.spec.expiration_seconds is None
            else human_duration(timedelta(seconds=obj.spec.expiration_seconds)),
            _request_condition(obj),
        ),
    ),
    ("apiregistration.k8s.io", "apiservices"): (
        (Column("Service"), Column("Available"), AGE),
        lambda obj, now: (_service_of(obj), _available(obj), age(obj, now)),
    ),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): (
        (Column("Webhooks", type="integer"), AGE),
        lambda obj, now: (len(obj.webhooks), age(obj, now)),
    ),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): (
        (Column("Webhooks", type="integer"), AGE),
        lambda obj, now: (len(obj.webhooks), age(obj, now)),
    ),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"): (
        (Column("Validations", type="integer"), Column("ParamKind"), AGE),
        lambda obj, now: (len(obj.spec.validations), _param_kind(obj), age(obj, now)),
    ),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"): (
        (Column("Mutations", type="integer"), Column("ParamKind"), AGE),
        lambda obj, now: (len(obj.spec.mutations), _param_kind(obj), age(obj, now)),
    ),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"): (_BINDING_COLUMNS, _binding),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"): (_BINDING_COLUMNS, _binding),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): (
        (
            Column("PriorityLevel"),
            Column("MatchingPrecedence"),
            Column("DistinguisherMethod"),
            AGE,
            Column("MissingPL"),
        ),
        lambda obj, now: (
            obj.spec.priority_level_configuration.name,
            obj.spec.matching_precedence or 0,
            NONE if obj.spec.distinguisher_method is None else obj.spec.distinguisher_method.type,
            age(obj, now),
            next((each.status for each in obj.status.conditions if each.type == "Dangling"), "?"),
        ),
    ),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): (
        (
            Column("Type"),
            Column("NominalConcurrencyShares"),
            Column("Queues"),
            Column("HandSize"),
            Column("QueueLengthLimit"),
            AGE,
        ),
        lambda obj, now: (obj.spec.type, *_concurrency(obj), age(obj, now)),
    ),
    ("resource.k8s.io", "resourceclaims"): (
        (Column("State"), AGE),
        lambda obj, now: (_claim_state(obj), age(obj, now)),
    ),
    ("resource.k8s.io", "resourceslices"): (
        (Column("Node"), Column("Driver"), Column("Pool"), AGE),
        lambda obj, now: (
            obj.spec.node_name or UNSET,
            obj.spec.driver,
            obj.spec.pool.name,
            age(obj, now),
        ),
    ),
}
"""Columns after the name and the function for their cells, by (group, plural)."""

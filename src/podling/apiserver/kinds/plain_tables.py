"""Tables of kinds that need no more than columns and a function to fill them.

Most of these kinds have no rules of their own beside; those that have inherit from ``TableRules``.

Upstream: ``pkg/printers/internalversion/printers.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from podling.apiserver.kinds.base import KindRules
from podling.apiserver.kinds.cells import (
    AGE,
    NAME,
    NONE,
    UNSET,
    age,
    flag,
    joined,
    label_text,
    or_none,
    template_cells,
)
from podling.machinery.tables import Column, human_duration

Cells = Callable[[Any, datetime], Sequence[Any]]


T = TypeVar("T", bound=Any)


class TableRules(KindRules[T]):
    """The generic rules with a table from ``TABLES``, if there is one: the kind's row."""

    def __init__(self, columns: Sequence[Column] = (), cells: Cells | None = None) -> None:
        self.columns = (NAME, *columns) if columns else ()
        self._cells = cells

    def row(self, obj: T, now: datetime) -> Sequence[Any]:
        return (obj.metadata.name, *self._cells(obj, now)) if self._cells is not None else ()


def _controller(obj: Any) -> str:
    """The controller of an object as ``kind/name``."""
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
    """How far a certificate signing request got."""
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
    """The shares of a priority level, and the sizes of its queues."""
    level = obj.spec.limited or obj.spec.exempt
    shares = NONE if level is None else level.nominal_concurrency_shares
    response = obj.spec.limited.limit_response if obj.spec.limited is not None else None
    queuing = response.queuing if response is not None else None
    if queuing is None:
        return shares, NONE, NONE, NONE
    return shares, queuing.queues, queuing.hand_size, queuing.queue_length_limit


TABLES: dict[tuple[str, str], tuple[Sequence[Column], Cells]] = {
    ("", "podtemplates"): (
        (Column("Containers"), Column("Images"), Column("Pod Labels")),
        lambda obj, now: (*template_cells(obj.template.spec), label_text(obj.template.metadata.labels)),
    ),
    ("apps", "controllerrevisions"): (
        (Column("Controller"), Column("Revision", type="integer"), AGE),
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
        lambda obj, now: (
            f"{obj.spec.parent_ref.resource}/{obj.spec.parent_ref.namespace}/{obj.spec.parent_ref.name}",
        ),
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
            flag(obj.spec.attach_required is not False),
            flag(obj.spec.pod_info_on_mount),
            flag(obj.spec.storage_capacity),
            ",".join(each.audience for each in obj.spec.token_requests) or UNSET,
            flag(obj.spec.requires_republish),
            ",".join(obj.spec.volume_lifecycle_modes) or "Persistent",
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
            flag(obj.status.attached),
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
            or_none(obj.spec.signer_name),
            or_none(obj.spec.username),
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
"""Columns after the name, and the function that fills them, by (group, plural)."""


def _claim_state(obj: Any) -> str:
    states = [
        "deleted" if obj.metadata.deletion_timestamp is not None else "",
        "pending" if obj.status.allocation is None else "allocated",
        "reserved" if obj.status.reserved_for else "",
    ]
    return joined(filter(None, states))

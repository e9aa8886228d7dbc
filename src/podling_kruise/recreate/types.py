"""ContainerRecreateRequests as structs. Upstream: ``apis/apps/v1beta1/containerrecreaterequest_types.go``."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import msgspec
from msgspec import Struct

from podling.api.core_v1 import ContainerPort, ExecAction, HTTPGetAction, TCPSocketAction
from podling.api.meta_v1 import Condition
from podling.client.typed_kinds import TypedObject, defined_resource
from podling.machinery.encoding.custom import CustomResource
from podling_kruise.recreate.definition import definition

POD_UID, NODE_NAME = "crr.apps.kruise.io/pod-uid", "crr.apps.kruise.io/node-name"
ACTIVE = "crr.apps.kruise.io/active"
"""The label of requests that have not ended."""
UNREADY_ACQUIRED = "crr.apps.kruise.io/unready-acquired"
"""The finalizer of a request that holds its pod not ready."""
PRE_RECREATE_GRACE = "PreRecreateGrace"
"""The condition with the time from which the pod is not ready."""

FAIL, IGNORE = "Fail", "Ignore"
PENDING, RECREATING, SUCCEEDED, FAILED = "Pending", "Recreating", "Succeeded", "Failed"
COMPLETED = "Completed"


class PreStop(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    exec: ExecAction | None = None
    http_get: HTTPGetAction | None = None
    tcp_socket: TCPSocketAction | None = None


class StatusContext(Struct, frozen=True, kw_only=True, rename="camel"):
    """A container at the creation of the request."""

    container_id: str = msgspec.field(default="", name="containerID")
    restart_count: int = 0


class RecreateContainer(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    name: str = ""
    pre_stop: PreStop | None = None
    ports: tuple[ContainerPort, ...] = ()
    status_context: StatusContext | None = None


class RecreateStrategy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    failure_policy: str = ""
    ordered_recreate: bool = False
    force_recreate: bool = False
    termination_grace_period_seconds: int | None = None
    unready_grace_period_seconds: int | None = None
    min_started_seconds: int = 0


class RecreateSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    pod_name: str = ""
    containers: tuple[RecreateContainer, ...] = ()
    strategy: RecreateStrategy = msgspec.field(default_factory=lambda: RecreateStrategy())
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None


class RecreateState(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The state of one container. ``is_killed``: the node's controller has stopped it."""

    name: str = ""
    phase: str = ""
    message: str = ""
    is_killed: bool = False


class Snapshot(Struct, frozen=True, kw_only=True, rename="camel"):
    """The status of a container that was started after the creation of the request."""

    name: str = ""
    ready: bool = False
    restart_count: int = 0
    container_id: str = msgspec.field(default="", name="containerID")


class RecreateStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    phase: str = ""
    completion_time: datetime | None = None
    message: str = ""
    container_recreate_states: tuple[RecreateState, ...] = ()
    container_status_snapshot: tuple[Snapshot, ...] = ()
    conditions: tuple[Condition, ...] = ()


class ContainerRecreateRequest(TypedObject, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    custom_resource: ClassVar[CustomResource] = defined_resource(definition())

    spec: RecreateSpec = msgspec.field(default_factory=lambda: RecreateSpec())
    status: RecreateStatus = msgspec.field(default_factory=lambda: RecreateStatus())

"""BroadcastJobs as structs. Upstream: ``apis/apps/v1beta1/broadcastjob_types.go``."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import msgspec
from msgspec import Struct

from podling.api.core_v1 import PodTemplateSpec
from podling.client.typed_kinds import TypedObject, defined_resource
from podling.machinery.encoding.custom import CustomResource
from podling_kruise.broadcastjob.definition import definition

ALWAYS, NEVER = "Always", "Never"
CONTINUE, FAIL_FAST, PAUSE = "Continue", "FailFast", "Pause"
RUNNING, PAUSED, FAILED, COMPLETED = "running", "paused", "failed", "completed"


class CompletionPolicy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    type: str = ""
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None


class FailurePolicy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    type: str = ""
    restart_limit: int = 0


class BroadcastJobSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    parallelism: int | str | None = None
    template: PodTemplateSpec = msgspec.field(default_factory=lambda: PodTemplateSpec())
    completion_policy: CompletionPolicy = msgspec.field(default_factory=lambda: CompletionPolicy())
    paused: bool = False
    failure_policy: FailurePolicy = msgspec.field(default_factory=lambda: FailurePolicy())


class JobCondition(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    type: str = ""
    status: str = ""
    last_probe_time: datetime | None = None
    last_transition_time: datetime | None = None
    reason: str = ""
    message: str = ""


class BroadcastJobStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The fields with a factory are always written."""

    conditions: tuple[JobCondition, ...] = ()
    start_time: datetime | None = None
    completion_time: datetime | None = None
    active: int = msgspec.field(default_factory=int)
    succeeded: int = msgspec.field(default_factory=int)
    failed: int = msgspec.field(default_factory=int)
    desired: int = msgspec.field(default_factory=int)
    phase: str = msgspec.field(default_factory=str)


class BroadcastJob(TypedObject, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    custom_resource: ClassVar[CustomResource] = defined_resource(definition())

    spec: BroadcastJobSpec = msgspec.field(default_factory=lambda: BroadcastJobSpec())
    status: BroadcastJobStatus = msgspec.field(default_factory=lambda: BroadcastJobStatus())

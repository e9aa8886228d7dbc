"""ImagePullJobs and NodeImages as structs. Upstream: ``imagepulljob_types.go``, ``nodeimage_types.go``."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import msgspec
from msgspec import Struct

from podling.api.core_v1 import ObjectReference
from podling.api.meta_v1 import LabelSelector, LabelSelectorRequirement
from podling.client.typed_kinds import TypedObject, defined_resource
from podling.machinery.encoding.custom import CustomResource
from podling_kruise.broadcastjob.types import CompletionPolicy
from podling_kruise.imagepull.definition import job_definition, node_definition

ALWAYS, NEVER = "Always", "Never"
IF_NOT_PRESENT = "IfNotPresent"
WAITING, PULLING, SUCCEEDED, FAILED = "Waiting", "Pulling", "Succeeded", "Failed"
BATCH = "batch"
"""The mode of references to secrets that several jobs share."""


class PullPolicy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    timeout_seconds: int | None = None
    backoff_limit: int | None = None
    ttl_seconds_after_finished: int | None = None
    active_deadline_seconds: int | None = None


class SandboxConfig(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)


class NodeSelector(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    names: tuple[str, ...] | None = None
    match_labels: dict[str, str] = msgspec.field(default_factory=dict)
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()

    @property
    def labels(self) -> LabelSelector:
        return LabelSelector(match_labels=self.match_labels, match_expressions=self.match_expressions)


class ImagePullJobTemplate(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The fields of a job but for its image."""

    pull_secrets: tuple[str, ...] = ()
    selector: NodeSelector | None = None
    pod_selector: LabelSelector | None = None
    parallelism: int | str | None = None
    pull_policy: PullPolicy = msgspec.field(default_factory=lambda: PullPolicy())
    completion_policy: CompletionPolicy = msgspec.field(default_factory=lambda: CompletionPolicy())
    sandbox_config: SandboxConfig | None = None
    image_pull_policy: str = ""


class ImagePullJobSpec(ImagePullJobTemplate, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    image: str = ""


class ImagePullJobStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The fields with a factory are always written."""

    start_time: datetime | None = None
    completion_time: datetime | None = None
    desired: int = msgspec.field(default_factory=int)
    active: int = msgspec.field(default_factory=int)
    succeeded: int = msgspec.field(default_factory=int)
    failed: int = msgspec.field(default_factory=int)
    message: str = ""
    failed_nodes: tuple[str, ...] = ()


class ImagePullJob(TypedObject, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    custom_resource: ClassVar[CustomResource] = defined_resource(job_definition())

    spec: ImagePullJobSpec = msgspec.field(default_factory=lambda: ImagePullJobSpec())
    status: ImagePullJobStatus = msgspec.field(default_factory=lambda: ImagePullJobStatus())


class SecretReference(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    namespace: str = ""
    name: str = ""
    mode: str = ""


class TagSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    tag: str = ""
    created_at: datetime | None = None
    pull_policy: PullPolicy | None = None
    owner_references: tuple[ObjectReference, ...] = ()
    version: int = 0
    image_pull_policy: str = ""


class ImageSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    pull_secrets: tuple[SecretReference, ...] = ()
    tags: tuple[TagSpec, ...] = msgspec.field(default_factory=tuple)
    sandbox_config: SandboxConfig | None = None


class NodeImageSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    images: dict[str, ImageSpec] = msgspec.field(default_factory=dict)


class TagStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    tag: str = ""
    phase: str = ""
    progress: int = 0
    start_time: datetime | None = None
    completion_time: datetime | None = None
    version: int = 0
    image_id: str = msgspec.field(default="", name="imageID")
    message: str = ""


class ImageStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    tags: tuple[TagStatus, ...] = msgspec.field(default_factory=tuple)


class SyncStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    sync_at: datetime | None = None
    status: str = ""
    message: str = ""


class NodeImageStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The fields with a factory are always written, but for the map."""

    desired: int = msgspec.field(default_factory=int)
    succeeded: int = msgspec.field(default_factory=int)
    failed: int = msgspec.field(default_factory=int)
    pulling: int = msgspec.field(default_factory=int)
    waiting: int = msgspec.field(default_factory=int)
    image_statuses: dict[str, ImageStatus] = msgspec.field(default_factory=dict)
    first_sync_status: SyncStatus | None = None


class NodeImage(TypedObject, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    custom_resource: ClassVar[CustomResource] = defined_resource(node_definition())

    spec: NodeImageSpec = msgspec.field(default_factory=lambda: NodeImageSpec())
    status: NodeImageStatus = msgspec.field(default_factory=lambda: NodeImageStatus())

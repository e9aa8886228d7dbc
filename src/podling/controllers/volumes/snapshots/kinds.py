"""Structs of ``snapshot.storage.k8s.io/v1``."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.api.core_v1 import ObjectReference
from podling.client.typed_kinds import TypedObject, defined_resource
from podling.controllers.volumes.snapshots.definitions import CLASSES, CONTENTS, SNAPSHOTS
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import CustomResource


def _definition(plain: dict[str, Any]) -> CustomResourceDefinition:
    return codec.convert(plain, CustomResourceDefinition, "Strict")[0]


DEFINITIONS = (_definition(CLASSES), _definition(SNAPSHOTS), _definition(CONTENTS))


class SnapshotError(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    message: str = ""
    time: datetime | None = None


class SnapshotSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    persistent_volume_claim_name: str = ""
    volume_snapshot_content_name: str = ""


class SnapshotSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    source: SnapshotSource = msgspec.field(default_factory=lambda: SnapshotSource())
    volume_snapshot_class_name: str | None = None


class SnapshotStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    bound_volume_snapshot_content_name: str = ""
    creation_time: datetime | None = None
    error: SnapshotError | None = None
    ready_to_use: bool | None = None
    restore_size: str | int | None = None


class VolumeSnapshot(TypedObject, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A user's request for a snapshot, or for the use of one that exists."""

    custom_resource: ClassVar[CustomResource] = defined_resource(DEFINITIONS[1])

    spec: SnapshotSpec = msgspec.field(default_factory=lambda: SnapshotSpec())
    status: SnapshotStatus = msgspec.field(default_factory=lambda: SnapshotStatus())


class ContentSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    snapshot_handle: str = ""
    volume_handle: str = ""


class ContentSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    deletion_policy: str = ""
    driver: str = ""
    source: ContentSource = msgspec.field(default_factory=lambda: ContentSource())
    source_volume_mode: str = ""
    volume_snapshot_class_name: str | None = None
    volume_snapshot_ref: ObjectReference = msgspec.field(default_factory=lambda: ObjectReference())


class ContentStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    creation_time: int | None = None
    error: SnapshotError | None = None
    ready_to_use: bool | None = None
    restore_size: int | None = None
    snapshot_handle: str = ""


class VolumeSnapshotContent(TypedObject, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A snapshot that is stored, or is to be taken."""

    custom_resource: ClassVar[CustomResource] = defined_resource(DEFINITIONS[2])

    spec: ContentSpec = msgspec.field(default_factory=lambda: ContentSpec())
    status: ContentStatus = msgspec.field(default_factory=lambda: ContentStatus())


class VolumeSnapshotClass(TypedObject, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The driver of snapshots, and what becomes of them."""

    custom_resource: ClassVar[CustomResource] = defined_resource(DEFINITIONS[0])

    deletion_policy: str = ""
    driver: str = ""
    parameters: dict[str, str] = msgspec.field(default_factory=dict)

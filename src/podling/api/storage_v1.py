"""Kubernetes v1.36 types of storage/v1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from datetime import datetime
from types import NoneType
from typing import Annotated, ClassVar

from msgspec import Struct, field

from podling.api._zero import Nullable, empty_as_null, empty_list, nil_list
from podling.api.core_v1 import PersistentVolumeSpec, TopologySelectorTerm
from podling.api.markers import INT32, LIST_SET, ListMap, MergeKey, QUANTITY
from podling.api.meta_v1 import LabelSelector, ListMeta, ObjectMeta


class CSIDriver(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('storage.k8s.io', 'v1', 'CSIDriver')
    api_version: str = field(default_factory=lambda: 'storage.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'CSIDriver')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: CSIDriverSpec = field(default_factory=lambda: CSIDriverSpec())


class CSIDriverList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('storage.k8s.io', 'v1', 'CSIDriverList')
    api_version: str = field(default_factory=lambda: 'storage.k8s.io/v1')
    items: tuple[CSIDriver, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'CSIDriverList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class CSIDriverSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    attach_required: bool | None = None
    fs_group_policy: str | None = None
    node_allocatable_update_period_seconds: int | None = None
    pod_info_on_mount: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None
    requires_republish: bool | None = None
    se_linux_mount: bool | None = None
    service_account_token_in_secrets: bool | None = None
    storage_capacity: bool | None = None
    token_requests: tuple[TokenRequest, ...] = ()
    volume_lifecycle_modes: Annotated[tuple[str, ...], LIST_SET] = ()


class CSINode(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('storage.k8s.io', 'v1', 'CSINode')
    api_version: str = field(default_factory=lambda: 'storage.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'CSINode')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: CSINodeSpec = field(default_factory=lambda: CSINodeSpec())


class CSINodeDriver(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name', 'nodeID')
    allocatable: VolumeNodeResources | None = None
    name: str = field(default_factory=str)
    node_id: str = field(default_factory=str, name='nodeID')
    topology_keys: Nullable[tuple[str, ...]] = field(default_factory=nil_list)

    def __post_init__(self) -> None:
        if not self.topology_keys:
            empty_as_null(self, 'topology_keys')


class CSINodeList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('storage.k8s.io', 'v1', 'CSINodeList')
    api_version: str = field(default_factory=lambda: 'storage.k8s.io/v1')
    items: tuple[CSINode, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'CSINodeList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class CSINodeSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('drivers',)
    drivers: Nullable[Annotated[tuple[CSINodeDriver, ...], MergeKey('name'), ListMap('name')]] = field(default_factory=nil_list)

    def __post_init__(self) -> None:
        if not self.drivers:
            empty_as_null(self, 'drivers')


class CSIStorageCapacity(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('storageClassName',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('storage.k8s.io', 'v1', 'CSIStorageCapacity')
    api_version: str = field(default_factory=lambda: 'storage.k8s.io/v1')
    capacity: Annotated[str, QUANTITY] | None = None
    kind: str = field(default_factory=lambda: 'CSIStorageCapacity')
    maximum_volume_size: Annotated[str, QUANTITY] | None = None
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    node_topology: LabelSelector | None = None
    storage_class_name: str = field(default_factory=str)


class CSIStorageCapacityList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('storage.k8s.io', 'v1', 'CSIStorageCapacityList')
    api_version: str = field(default_factory=lambda: 'storage.k8s.io/v1')
    items: tuple[CSIStorageCapacity, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'CSIStorageCapacityList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class StorageClass(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('provisioner',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('storage.k8s.io', 'v1', 'StorageClass')
    allow_volume_expansion: bool | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()
    api_version: str = field(default_factory=lambda: 'storage.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'StorageClass')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    mount_options: tuple[str, ...] = ()
    parameters: dict[str, str] = field(default_factory=dict)
    provisioner: str = field(default_factory=str)
    reclaim_policy: str | None = None
    volume_binding_mode: str | None = None


class StorageClassList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('storage.k8s.io', 'v1', 'StorageClassList')
    api_version: str = field(default_factory=lambda: 'storage.k8s.io/v1')
    items: tuple[StorageClass, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'StorageClassList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class TokenRequest(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('audience',)
    audience: str = field(default_factory=str)
    expiration_seconds: int | None = None


class VolumeAttachment(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('storage.k8s.io', 'v1', 'VolumeAttachment')
    api_version: str = field(default_factory=lambda: 'storage.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'VolumeAttachment')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: VolumeAttachmentSpec = field(default_factory=lambda: VolumeAttachmentSpec())
    status: VolumeAttachmentStatus = field(default_factory=lambda: VolumeAttachmentStatus())


class VolumeAttachmentList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('storage.k8s.io', 'v1', 'VolumeAttachmentList')
    api_version: str = field(default_factory=lambda: 'storage.k8s.io/v1')
    items: tuple[VolumeAttachment, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'VolumeAttachmentList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class VolumeAttachmentSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    inline_volume_spec: PersistentVolumeSpec | None = None
    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('attacher', 'nodeName', 'source')
    attacher: str = field(default_factory=str)
    node_name: str = field(default_factory=str)
    source: VolumeAttachmentSource = field(default_factory=lambda: VolumeAttachmentSource())


class VolumeAttachmentStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('attached',)
    attach_error: VolumeError | None = None
    attached: bool = field(default_factory=bool)
    attachment_metadata: dict[str, str] = field(default_factory=dict)
    detach_error: VolumeError | None = None


class VolumeAttributesClass(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('driverName',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('storage.k8s.io', 'v1', 'VolumeAttributesClass')
    api_version: str = field(default_factory=lambda: 'storage.k8s.io/v1')
    driver_name: str = field(default_factory=str)
    kind: str = field(default_factory=lambda: 'VolumeAttributesClass')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    parameters: dict[str, str] = field(default_factory=dict)


class VolumeAttributesClassList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('storage.k8s.io', 'v1', 'VolumeAttributesClassList')
    api_version: str = field(default_factory=lambda: 'storage.k8s.io/v1')
    items: tuple[VolumeAttributesClass, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'VolumeAttributesClassList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class VolumeError(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    error_code: Annotated[int, INT32] | None = None
    message: str = ''
    time: datetime | None = field(default_factory=NoneType)


class VolumeNodeResources(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    count: Annotated[int, INT32] | None = None

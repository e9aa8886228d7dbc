"""Kubernetes v1.36 types of core/v1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from datetime import datetime
from types import NoneType
from typing import Annotated, ClassVar

from msgspec import Struct, field

from podling.api._zero import Nullable, empty_as_null, empty_list, empty_map, nil_list
from podling.api.markers import ATOMIC_MAP, BYTES, GRANULAR_MAP, INT32, LIST_SET, ListMap, MICRO_TIME, MergeKey, QUANTITY, RETAIN_KEYS
from podling.api.meta_v1 import Condition, LabelSelector, ListMeta, ObjectMeta


class AWSElasticBlockStoreVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('volumeID',)
    fs_type: str = ''
    partition: Annotated[int, INT32] = 0
    read_only: bool = False
    volume_id: str = field(default_factory=str, name='volumeID')


class Affinity(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None


class AppArmorProfile(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('type',)
    localhost_profile: str | None = None
    type: str = field(default_factory=str)


class AttachedVolume(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('devicePath', 'name')
    device_path: str = field(default_factory=str)
    name: str = field(default_factory=str)


class AzureDiskVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('diskName', 'diskURI')
    caching_mode: str | None = None
    disk_name: str = field(default_factory=str)
    disk_uri: str = field(default_factory=str, name='diskURI')
    fs_type: str | None = None
    kind: str | None = None
    read_only: bool | None = None


class AzureFilePersistentVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('secretName', 'shareName')
    read_only: bool = False
    secret_name: str = field(default_factory=str)
    secret_namespace: str | None = field(default_factory=NoneType)
    share_name: str = field(default_factory=str)


class AzureFileVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('secretName', 'shareName')
    read_only: bool = False
    secret_name: str = field(default_factory=str)
    share_name: str = field(default_factory=str)


class Binding(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('target',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'Binding')
    api_version: str = field(default_factory=lambda: 'v1')
    kind: str = field(default_factory=lambda: 'Binding')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    target: ObjectReference = field(default_factory=lambda: ObjectReference())


class CSIPersistentVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('driver', 'volumeHandle')
    controller_expand_secret_ref: SecretReference | None = None
    controller_publish_secret_ref: SecretReference | None = None
    driver: str = field(default_factory=str)
    fs_type: str = ''
    node_expand_secret_ref: SecretReference | None = None
    node_publish_secret_ref: SecretReference | None = None
    node_stage_secret_ref: SecretReference | None = None
    read_only: bool = False
    volume_attributes: dict[str, str] = field(default_factory=dict)
    volume_handle: str = field(default_factory=str)


class CSIVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('driver',)
    driver: str = field(default_factory=str)
    fs_type: str | None = None
    node_publish_secret_ref: LocalObjectReference | None = None
    read_only: bool | None = None
    volume_attributes: dict[str, str] = field(default_factory=dict)


class Capabilities(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    add: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()


class CephFSPersistentVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('monitors',)
    monitors: tuple[str, ...] = field(default_factory=empty_list)
    path: str = ''
    read_only: bool = False
    secret_file: str = ''
    secret_ref: SecretReference | None = None
    user: str = ''


class CephFSVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('monitors',)
    monitors: tuple[str, ...] = field(default_factory=empty_list)
    path: str = ''
    read_only: bool = False
    secret_file: str = ''
    secret_ref: LocalObjectReference | None = None
    user: str = ''


class CinderPersistentVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('volumeID',)
    fs_type: str = ''
    read_only: bool = False
    secret_ref: SecretReference | None = None
    volume_id: str = field(default_factory=str, name='volumeID')


class CinderVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('volumeID',)
    fs_type: str = ''
    read_only: bool = False
    secret_ref: LocalObjectReference | None = None
    volume_id: str = field(default_factory=str, name='volumeID')


class ClientIPConfig(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    timeout_seconds: Annotated[int, INT32] | None = None


class ClusterTrustBundleProjection(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('path',)
    label_selector: LabelSelector | None = None
    name: str | None = None
    optional: bool | None = None
    path: str = field(default_factory=str)
    signer_name: str | None = None


class ComponentCondition(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('status', 'type')
    error: str = ''
    message: str = ''
    status: str = field(default_factory=str)
    type: str = field(default_factory=str)


class ComponentStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'ComponentStatus')
    api_version: str = field(default_factory=lambda: 'v1')
    conditions: Annotated[tuple[ComponentCondition, ...], MergeKey('type'), ListMap('type')] = ()
    kind: str = field(default_factory=lambda: 'ComponentStatus')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())


class ComponentStatusList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'ComponentStatusList')
    api_version: str = field(default_factory=lambda: 'v1')
    items: tuple[ComponentStatus, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'ComponentStatusList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class ConfigMap(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'ConfigMap')
    api_version: str = field(default_factory=lambda: 'v1')
    binary_data: dict[str, Annotated[str, BYTES]] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)
    immutable: bool | None = None
    kind: str = field(default_factory=lambda: 'ConfigMap')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())


class ConfigMapEnvSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    name: str = ''
    optional: bool | None = None


class ConfigMapKeySelector(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('key',)
    atomic_struct: ClassVar[bool] = True
    key: str = field(default_factory=str)
    name: str = ''
    optional: bool | None = None


class ConfigMapList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'ConfigMapList')
    api_version: str = field(default_factory=lambda: 'v1')
    items: tuple[ConfigMap, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'ConfigMapList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class ConfigMapNodeConfigSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('kubeletConfigKey', 'name', 'namespace')
    kubelet_config_key: str = field(default_factory=str)
    name: str = field(default_factory=str)
    namespace: str = field(default_factory=str)
    resource_version: str = ''
    uid: str = ''


class ConfigMapProjection(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    items: tuple[KeyToPath, ...] = ()
    name: str = ''
    optional: bool | None = None


class ConfigMapVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    default_mode: Annotated[int, INT32] | None = None
    items: tuple[KeyToPath, ...] = ()
    name: str = ''
    optional: bool | None = None


class Container(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name',)
    args: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    env: Annotated[tuple[EnvVar, ...], MergeKey('name'), ListMap('name')] = ()
    env_from: tuple[EnvFromSource, ...] = ()
    image: str = ''
    image_pull_policy: str = ''
    lifecycle: Lifecycle | None = None
    liveness_probe: Probe | None = None
    name: str = field(default_factory=str)
    ports: Annotated[tuple[ContainerPort, ...], MergeKey('containerPort'), ListMap('containerPort', 'protocol')] = ()
    readiness_probe: Probe | None = None
    resize_policy: tuple[ContainerResizePolicy, ...] = ()
    resources: ResourceRequirements = field(default_factory=lambda: ResourceRequirements())
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()
    security_context: SecurityContext | None = None
    startup_probe: Probe | None = None
    stdin: bool = False
    stdin_once: bool = False
    termination_message_path: str = ''
    termination_message_policy: str = ''
    tty: bool = False
    volume_devices: Annotated[tuple[VolumeDevice, ...], MergeKey('devicePath'), ListMap('devicePath')] = ()
    volume_mounts: Annotated[tuple[VolumeMount, ...], MergeKey('mountPath'), ListMap('mountPath')] = ()
    working_dir: str = ''


class ContainerExtendedResourceRequest(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('containerName', 'requestName', 'resourceName')
    container_name: str = field(default_factory=str)
    request_name: str = field(default_factory=str)
    resource_name: str = field(default_factory=str)


class ContainerImage(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    names: Nullable[tuple[str, ...]] = field(default_factory=nil_list)
    size_bytes: int = 0

    def __post_init__(self) -> None:
        if not self.names:
            empty_as_null(self, 'names')


class ContainerPort(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('containerPort',)
    container_port: Annotated[int, INT32] = field(default_factory=int)
    host_ip: str = field(default='', name='hostIP')
    host_port: Annotated[int, INT32] = 0
    name: str = ''
    protocol: str = ''


class ContainerResizePolicy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('resourceName', 'restartPolicy')
    resource_name: str = field(default_factory=str)
    restart_policy: str = field(default_factory=str)


class ContainerRestartRule(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('action',)
    action: str = ''
    exit_codes: ContainerRestartRuleOnExitCodes | None = None


class ContainerRestartRuleOnExitCodes(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('operator',)
    operator: str = ''
    values: Annotated[tuple[Annotated[int, INT32], ...], LIST_SET] = ()


class ContainerState(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None
    waiting: ContainerStateWaiting | None = None


class ContainerStateRunning(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    started_at: datetime | None = field(default_factory=NoneType)


class ContainerStateTerminated(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('exitCode',)
    container_id: str = field(default='', name='containerID')
    exit_code: Annotated[int, INT32] = field(default_factory=int)
    finished_at: datetime | None = field(default_factory=NoneType)
    message: str = ''
    reason: str = ''
    signal: Annotated[int, INT32] = 0
    started_at: datetime | None = field(default_factory=NoneType)


class ContainerStateWaiting(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    message: str = ''
    reason: str = ''


class ContainerStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('image', 'imageID', 'name', 'ready', 'restartCount')
    allocated_resources: dict[str, Annotated[str, QUANTITY]] = field(default_factory=dict)
    allocated_resources_status: Annotated[tuple[ResourceStatus, ...], MergeKey('name'), ListMap('name')] = ()
    container_id: str = field(default='', name='containerID')
    image: str = field(default_factory=str)
    image_id: str = field(default_factory=str, name='imageID')
    last_state: ContainerState = field(default_factory=lambda: ContainerState())
    name: str = field(default_factory=str)
    ready: bool = field(default_factory=bool)
    resources: ResourceRequirements | None = None
    restart_count: Annotated[int, INT32] = field(default_factory=int)
    started: bool | None = None
    state: ContainerState = field(default_factory=lambda: ContainerState())
    stop_signal: str | None = None
    user: ContainerUser | None = None
    volume_mounts: Annotated[tuple[VolumeMountStatus, ...], MergeKey('mountPath'), ListMap('mountPath')] = ()


class ContainerUser(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    linux: LinuxContainerUser | None = None


class DaemonEndpoint(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('Port',)
    port: Annotated[int, INT32] = field(default_factory=int, name='Port')


class DownwardAPIProjection(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    items: tuple[DownwardAPIVolumeFile, ...] = ()


class DownwardAPIVolumeFile(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('path',)
    field_ref: ObjectFieldSelector | None = None
    mode: Annotated[int, INT32] | None = None
    path: str = field(default_factory=str)
    resource_field_ref: ResourceFieldSelector | None = None


class DownwardAPIVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    default_mode: Annotated[int, INT32] | None = None
    items: tuple[DownwardAPIVolumeFile, ...] = ()


class EmptyDirVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    medium: str = ''
    size_limit: Annotated[str, QUANTITY] | None = None


class EndpointAddress(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('ip',)
    atomic_struct: ClassVar[bool] = True
    hostname: str = ''
    ip: str = field(default_factory=str)
    node_name: str | None = None
    target_ref: ObjectReference | None = None


class EndpointPort(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('port',)
    atomic_struct: ClassVar[bool] = True
    app_protocol: str | None = None
    name: str = ''
    port: Annotated[int, INT32] = field(default_factory=int)
    protocol: str = ''


class EndpointSubset(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    addresses: tuple[EndpointAddress, ...] = ()
    not_ready_addresses: tuple[EndpointAddress, ...] = ()
    ports: tuple[EndpointPort, ...] = ()


class Endpoints(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'Endpoints')
    api_version: str = field(default_factory=lambda: 'v1')
    kind: str = field(default_factory=lambda: 'Endpoints')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    subsets: tuple[EndpointSubset, ...] = ()


class EndpointsList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'EndpointsList')
    api_version: str = field(default_factory=lambda: 'v1')
    items: tuple[Endpoints, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'EndpointsList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class EnvFromSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    config_map_ref: ConfigMapEnvSource | None = None
    prefix: str = ''
    secret_ref: SecretEnvSource | None = None


class EnvVar(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name',)
    name: str = field(default_factory=str)
    value: str = ''
    value_from: EnvVarSource | None = None


class EnvVarSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    config_map_key_ref: ConfigMapKeySelector | None = None
    field_ref: ObjectFieldSelector | None = None
    file_key_ref: FileKeySelector | None = None
    resource_field_ref: ResourceFieldSelector | None = None
    secret_key_ref: SecretKeySelector | None = None


class EphemeralContainer(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name',)
    args: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    env: Annotated[tuple[EnvVar, ...], MergeKey('name'), ListMap('name')] = ()
    env_from: tuple[EnvFromSource, ...] = ()
    image: str = ''
    image_pull_policy: str = ''
    lifecycle: Lifecycle | None = None
    liveness_probe: Probe | None = None
    name: str = field(default_factory=str)
    ports: Annotated[tuple[ContainerPort, ...], MergeKey('containerPort'), ListMap('containerPort', 'protocol')] = ()
    readiness_probe: Probe | None = None
    resize_policy: tuple[ContainerResizePolicy, ...] = ()
    resources: ResourceRequirements = field(default_factory=lambda: ResourceRequirements())
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()
    security_context: SecurityContext | None = None
    startup_probe: Probe | None = None
    stdin: bool = False
    stdin_once: bool = False
    target_container_name: str = ''
    termination_message_path: str = ''
    termination_message_policy: str = ''
    tty: bool = False
    volume_devices: Annotated[tuple[VolumeDevice, ...], MergeKey('devicePath'), ListMap('devicePath')] = ()
    volume_mounts: Annotated[tuple[VolumeMount, ...], MergeKey('mountPath'), ListMap('mountPath')] = ()
    working_dir: str = ''


class EphemeralVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('involvedObject', 'metadata')
    micro_times: ClassVar[bool] = True
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'Event')
    action: str = ''
    api_version: str = field(default_factory=lambda: 'v1')
    count: Annotated[int, INT32] = 0
    event_time: Annotated[datetime, MICRO_TIME] | None = field(default_factory=NoneType)
    first_timestamp: datetime | None = field(default_factory=NoneType)
    involved_object: ObjectReference = field(default_factory=lambda: ObjectReference())
    kind: str = field(default_factory=lambda: 'Event')
    last_timestamp: datetime | None = field(default_factory=NoneType)
    message: str = ''
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    reason: str = ''
    related: ObjectReference | None = None
    reporting_component: str = field(default_factory=str)
    reporting_instance: str = field(default_factory=str)
    series: EventSeries | None = None
    source: EventSource = field(default_factory=lambda: EventSource())
    type: str = ''


class EventList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    micro_times: ClassVar[bool] = True
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'EventList')
    api_version: str = field(default_factory=lambda: 'v1')
    items: tuple[Event, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'EventList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class EventSeries(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    micro_times: ClassVar[bool] = True
    count: Annotated[int, INT32] = 0
    last_observed_time: Annotated[datetime, MICRO_TIME] | None = field(default_factory=NoneType)


class EventSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    component: str = ''
    host: str = ''


class ExecAction(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    command: tuple[str, ...] = ()


class FCVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    fs_type: str = ''
    lun: Annotated[int, INT32] | None = None
    read_only: bool = False
    target_wwns: tuple[str, ...] = field(default=(), name='targetWWNs')
    wwids: tuple[str, ...] = ()


class FileKeySelector(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('key', 'path', 'volumeName')
    atomic_struct: ClassVar[bool] = True
    key: str = field(default_factory=str)
    optional: bool | None = None
    path: str = field(default_factory=str)
    volume_name: str = field(default_factory=str)


class FlexPersistentVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('driver',)
    driver: str = field(default_factory=str)
    fs_type: str = ''
    options: dict[str, str] = field(default_factory=dict)
    read_only: bool = False
    secret_ref: SecretReference | None = None


class FlexVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('driver',)
    driver: str = field(default_factory=str)
    fs_type: str = ''
    options: dict[str, str] = field(default_factory=dict)
    read_only: bool = False
    secret_ref: LocalObjectReference | None = None


class FlockerVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    dataset_name: str = ''
    dataset_uuid: str = field(default='', name='datasetUUID')


class GCEPersistentDiskVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('pdName',)
    fs_type: str = ''
    partition: Annotated[int, INT32] = 0
    pd_name: str = field(default_factory=str)
    read_only: bool = False


class GRPCAction(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('port',)
    port: Annotated[int, INT32] = field(default_factory=int)
    service: str | None = field(default_factory=NoneType)


class GitRepoVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('repository',)
    directory: str = ''
    repository: str = field(default_factory=str)
    revision: str = ''


class GlusterfsPersistentVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('endpoints', 'path')
    endpoints: str = field(default_factory=str)
    endpoints_namespace: str | None = None
    path: str = field(default_factory=str)
    read_only: bool = False


class GlusterfsVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('endpoints', 'path')
    endpoints: str = field(default_factory=str)
    path: str = field(default_factory=str)
    read_only: bool = False


class HTTPGetAction(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('port',)
    host: str = ''
    http_headers: tuple[HTTPHeader, ...] = ()
    path: str = ''
    port: int | str = field(default_factory=int)
    scheme: str = ''


class HTTPHeader(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name', 'value')
    name: str = field(default_factory=str)
    value: str = field(default_factory=str)


class HostAlias(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('ip',)
    hostnames: tuple[str, ...] = ()
    ip: str = field(default_factory=str)


class HostIP(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('ip',)
    ip: str = field(default_factory=str)


class HostPathVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('path',)
    path: str = field(default_factory=str)
    type: str | None = None


class ISCSIPersistentVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('iqn', 'lun', 'targetPortal')
    chap_auth_discovery: bool = False
    chap_auth_session: bool = False
    fs_type: str = ''
    initiator_name: str | None = None
    iqn: str = field(default_factory=str)
    iscsi_interface: str = ''
    lun: Annotated[int, INT32] = field(default_factory=int)
    portals: tuple[str, ...] = ()
    read_only: bool = False
    secret_ref: SecretReference | None = None
    target_portal: str = field(default_factory=str)


class ISCSIVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('iqn', 'lun', 'targetPortal')
    chap_auth_discovery: bool = False
    chap_auth_session: bool = False
    fs_type: str = ''
    initiator_name: str | None = None
    iqn: str = field(default_factory=str)
    iscsi_interface: str = ''
    lun: Annotated[int, INT32] = field(default_factory=int)
    portals: tuple[str, ...] = ()
    read_only: bool = False
    secret_ref: LocalObjectReference | None = None
    target_portal: str = field(default_factory=str)


class ImageVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    pull_policy: str = ''
    reference: str = ''


class ImageVolumeStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('imageRef',)
    image_ref: str = ''


class KeyToPath(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('key', 'path')
    key: str = field(default_factory=str)
    mode: Annotated[int, INT32] | None = None
    path: str = field(default_factory=str)


class Lifecycle(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    post_start: LifecycleHandler | None = None
    pre_stop: LifecycleHandler | None = None
    stop_signal: str | None = None


class LifecycleHandler(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    exec: ExecAction | None = None
    http_get: HTTPGetAction | None = None
    sleep: SleepAction | None = None
    tcp_socket: TCPSocketAction | None = None


class LimitRange(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'LimitRange')
    api_version: str = field(default_factory=lambda: 'v1')
    kind: str = field(default_factory=lambda: 'LimitRange')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: LimitRangeSpec = field(default_factory=lambda: LimitRangeSpec())


class LimitRangeItem(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('type',)
    default: dict[str, Annotated[str, QUANTITY]] = field(default_factory=dict)
    default_request: dict[str, Annotated[str, QUANTITY]] = field(default_factory=dict)
    max: dict[str, Annotated[str, QUANTITY]] = field(default_factory=dict)
    max_limit_request_ratio: dict[str, Annotated[str, QUANTITY]] = field(default_factory=dict)
    min: dict[str, Annotated[str, QUANTITY]] = field(default_factory=dict)
    type: str = field(default_factory=str)


class LimitRangeList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'LimitRangeList')
    api_version: str = field(default_factory=lambda: 'v1')
    items: tuple[LimitRange, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'LimitRangeList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class LimitRangeSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('limits',)
    limits: Nullable[tuple[LimitRangeItem, ...]] = field(default_factory=nil_list)

    def __post_init__(self) -> None:
        if not self.limits:
            empty_as_null(self, 'limits')


class LinuxContainerUser(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('gid', 'uid')
    gid: int = field(default_factory=int)
    supplemental_groups: tuple[int, ...] = ()
    uid: int = field(default_factory=int)


class LoadBalancerIngress(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    hostname: str = ''
    ip: str = ''
    ip_mode: str | None = None
    ports: tuple[PortStatus, ...] = ()


class LoadBalancerStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    ingress: tuple[LoadBalancerIngress, ...] = ()


class LocalObjectReference(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    atomic_struct: ClassVar[bool] = True
    name: str = ''


class LocalVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('path',)
    fs_type: str | None = None
    path: str = field(default_factory=str)


class ModifyVolumeStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('status',)
    status: str = field(default_factory=str)
    target_volume_attributes_class_name: str = ''


class NFSVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('path', 'server')
    path: str = field(default_factory=str)
    read_only: bool = False
    server: str = field(default_factory=str)


class Namespace(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'Namespace')
    api_version: str = field(default_factory=lambda: 'v1')
    kind: str = field(default_factory=lambda: 'Namespace')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: NamespaceSpec = field(default_factory=lambda: NamespaceSpec())
    status: NamespaceStatus = field(default_factory=lambda: NamespaceStatus())


class NamespaceCondition(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('status', 'type')
    last_transition_time: datetime | None = field(default_factory=NoneType)
    message: str = ''
    reason: str = ''
    status: str = field(default_factory=str)
    type: str = field(default_factory=str)


class NamespaceList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'NamespaceList')
    api_version: str = field(default_factory=lambda: 'v1')
    items: tuple[Namespace, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'NamespaceList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class NamespaceSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    finalizers: tuple[str, ...] = ()


class NamespaceStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    conditions: Annotated[tuple[NamespaceCondition, ...], MergeKey('type'), ListMap('type')] = ()
    phase: str = ''


class Node(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'Node')
    api_version: str = field(default_factory=lambda: 'v1')
    kind: str = field(default_factory=lambda: 'Node')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: NodeSpec = field(default_factory=lambda: NodeSpec())
    status: NodeStatus = field(default_factory=lambda: NodeStatus())


class NodeAddress(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('address', 'type')
    address: str = field(default_factory=str)
    type: str = field(default_factory=str)


class NodeAffinity(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None


class NodeAllocatableResourceClaimStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('resourceClaimName', 'resources')
    containers: Annotated[tuple[str, ...], LIST_SET] = ()
    resource_claim_name: str = field(default_factory=str)
    resources: dict[str, Annotated[str, QUANTITY]] = field(default_factory=empty_map)


class NodeCondition(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('status', 'type')
    last_heartbeat_time: datetime | None = field(default_factory=NoneType)
    last_transition_time: datetime | None = field(default_factory=NoneType)
    message: str = ''
    reason: str = ''
    status: str = field(default_factory=str)
    type: str = field(default_factory=str)


class NodeConfigSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    config_map: ConfigMapNodeConfigSource | None = None


class NodeConfigStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    active: NodeConfigSource | None = None
    assigned: NodeConfigSource | None = None
    error: str = ''
    last_known_good: NodeConfigSource | None = None


class NodeDaemonEndpoints(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    kubelet_endpoint: DaemonEndpoint = field(default_factory=lambda: DaemonEndpoint())


class NodeFeatures(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    supplemental_groups_policy: bool | None = None


class NodeList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'NodeList')
    api_version: str = field(default_factory=lambda: 'v1')
    items: tuple[Node, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'NodeList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class NodeRuntimeHandler(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    features: NodeRuntimeHandlerFeatures | None = None
    name: str = field(default_factory=str)


class NodeRuntimeHandlerFeatures(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    recursive_read_only_mounts: bool | None = None
    user_namespaces: bool | None = None


class NodeSelector(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('nodeSelectorTerms',)
    atomic_struct: ClassVar[bool] = True
    node_selector_terms: tuple[NodeSelectorTerm, ...] = field(default_factory=empty_list)


class NodeSelectorRequirement(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('key', 'operator')
    key: str = field(default_factory=str)
    operator: str = field(default_factory=str)
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    atomic_struct: ClassVar[bool] = True
    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    config_source: NodeConfigSource | None = None
    external_id: str = field(default='', name='externalID')
    pod_cidr: str = field(default='', name='podCIDR')
    pod_cidrs: Annotated[tuple[str, ...], MergeKey(''), LIST_SET] = field(default=(), name='podCIDRs')
    provider_id: str = field(default='', name='providerID')
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False


class NodeStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    addresses: Annotated[tuple[NodeAddress, ...], MergeKey('type'), ListMap('type')] = ()
    allocatable: dict[str, Annotated[str, QUANTITY]] = field(default_factory=dict)
    capacity: dict[str, Annotated[str, QUANTITY]] = field(default_factory=dict)
    conditions: Annotated[tuple[NodeCondition, ...], MergeKey('type'), ListMap('type')] = ()
    config: NodeConfigStatus | None = None
    daemon_endpoints: NodeDaemonEndpoints = field(default_factory=lambda: NodeDaemonEndpoints())
    declared_features: tuple[str, ...] = ()
    features: NodeFeatures | None = None
    images: tuple[ContainerImage, ...] = ()
    node_info: NodeSystemInfo = field(default_factory=lambda: NodeSystemInfo())
    phase: str = ''
    runtime_handlers: tuple[NodeRuntimeHandler, ...] = ()
    volumes_attached: tuple[AttachedVolume, ...] = ()
    volumes_in_use: tuple[str, ...] = ()


class NodeSwapStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    capacity: int | None = None


class NodeSystemInfo(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('architecture', 'bootID', 'containerRuntimeVersion', 'kernelVersion', 'kubeProxyVersion', 'kubeletVersion', 'machineID', 'operatingSystem', 'osImage', 'systemUUID')
    architecture: str = field(default_factory=str)
    boot_id: str = field(default_factory=str, name='bootID')
    container_runtime_version: str = field(default_factory=str)
    kernel_version: str = field(default_factory=str)
    kube_proxy_version: str = field(default_factory=str)
    kubelet_version: str = field(default_factory=str)
    machine_id: str = field(default_factory=str, name='machineID')
    operating_system: str = field(default_factory=str)
    os_image: str = field(default_factory=str)
    swap: NodeSwapStatus | None = None
    system_uuid: str = field(default_factory=str, name='systemUUID')


class ObjectFieldSelector(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('fieldPath',)
    atomic_struct: ClassVar[bool] = True
    api_version: str = ''
    field_path: str = field(default_factory=str)


class ObjectReference(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    atomic_struct: ClassVar[bool] = True
    api_version: str = ''
    field_path: str = ''
    kind: str = ''
    name: str = ''
    namespace: str = ''
    resource_version: str = ''
    uid: str = ''


class PersistentVolume(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'PersistentVolume')
    api_version: str = field(default_factory=lambda: 'v1')
    kind: str = field(default_factory=lambda: 'PersistentVolume')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: PersistentVolumeSpec = field(default_factory=lambda: PersistentVolumeSpec())
    status: PersistentVolumeStatus = field(default_factory=lambda: PersistentVolumeStatus())


class PersistentVolumeClaim(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'PersistentVolumeClaim')
    api_version: str = field(default_factory=lambda: 'v1')
    kind: str = field(default_factory=lambda: 'PersistentVolumeClaim')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: PersistentVolumeClaimSpec = field(default_factory=lambda: PersistentVolumeClaimSpec())
    status: PersistentVolumeClaimStatus = field(default_factory=lambda: PersistentVolumeClaimStatus())


class PersistentVolumeClaimCondition(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('status', 'type')
    last_probe_time: datetime | None = field(default_factory=NoneType)
    last_transition_time: datetime | None = field(default_factory=NoneType)
    message: str = ''
    reason: str = ''
    status: str = field(default_factory=str)
    type: str = field(default_factory=str)


class PersistentVolumeClaimList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'PersistentVolumeClaimList')
    api_version: str = field(default_factory=lambda: 'v1')
    items: tuple[PersistentVolumeClaim, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'PersistentVolumeClaimList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class PersistentVolumeClaimSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    access_modes: tuple[str, ...] = ()
    data_source: TypedLocalObjectReference | None = None
    data_source_ref: TypedObjectReference | None = None
    resources: VolumeResourceRequirements = field(default_factory=lambda: VolumeResourceRequirements())
    selector: LabelSelector | None = None
    storage_class_name: str | None = None
    volume_attributes_class_name: str | None = None
    volume_mode: str | None = None
    volume_name: str = ''


class PersistentVolumeClaimStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    access_modes: tuple[str, ...] = ()
    allocated_resource_statuses: Annotated[dict[str, str], GRANULAR_MAP] = field(default_factory=dict)
    allocated_resources: dict[str, Annotated[str, QUANTITY]] = field(default_factory=dict)
    capacity: dict[str, Annotated[str, QUANTITY]] = field(default_factory=dict)
    conditions: Annotated[tuple[PersistentVolumeClaimCondition, ...], MergeKey('type'), ListMap('type')] = ()
    current_volume_attributes_class_name: str | None = None
    modify_volume_status: ModifyVolumeStatus | None = None
    phase: str = ''


class PersistentVolumeClaimTemplate(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: PersistentVolumeClaimSpec = field(default_factory=lambda: PersistentVolumeClaimSpec())


class PersistentVolumeClaimVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('claimName',)
    claim_name: str = field(default_factory=str)
    read_only: bool = False


class PersistentVolumeList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'PersistentVolumeList')
    api_version: str = field(default_factory=lambda: 'v1')
    items: tuple[PersistentVolume, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'PersistentVolumeList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class PersistentVolumeSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    access_modes: tuple[str, ...] = ()
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFilePersistentVolumeSource | None = None
    capacity: dict[str, Annotated[str, QUANTITY]] = field(default_factory=dict)
    cephfs: CephFSPersistentVolumeSource | None = None
    cinder: CinderPersistentVolumeSource | None = None
    claim_ref: Annotated[ObjectReference, GRANULAR_MAP] | None = None
    csi: CSIPersistentVolumeSource | None = None
    fc: FCVolumeSource | None = None
    flex_volume: FlexPersistentVolumeSource | None = None
    flocker: FlockerVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    glusterfs: GlusterfsPersistentVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None
    iscsi: ISCSIPersistentVolumeSource | None = None
    local: LocalVolumeSource | None = None
    mount_options: tuple[str, ...] = ()
    nfs: NFSVolumeSource | None = None
    node_affinity: VolumeNodeAffinity | None = None
    persistent_volume_reclaim_policy: str = ''
    photon_persistent_disk: PhotonPersistentDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    quobyte: QuobyteVolumeSource | None = None
    rbd: RBDPersistentVolumeSource | None = None
    scale_io: ScaleIOPersistentVolumeSource | None = field(default=None, name='scaleIO')
    storage_class_name: str = ''
    storageos: StorageOSPersistentVolumeSource | None = None
    volume_attributes_class_name: str | None = None
    volume_mode: str | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None


class PersistentVolumeStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    last_phase_transition_time: datetime | None = None
    message: str = ''
    phase: str = ''
    reason: str = ''


class PhotonPersistentDiskVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('pdID',)
    fs_type: str = ''
    pd_id: str = field(default_factory=str, name='pdID')


class Pod(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'Pod')
    api_version: str = field(default_factory=lambda: 'v1')
    kind: str = field(default_factory=lambda: 'Pod')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: PodSpec = field(default_factory=lambda: PodSpec())
    status: PodStatus = field(default_factory=lambda: PodStatus())


class PodAffinity(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()
    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()


class PodAffinityTerm(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('topologyKey',)
    label_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    topology_key: str = field(default_factory=str)


class PodAntiAffinity(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()
    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()


class PodCertificateProjection(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('keyType', 'signerName')
    certificate_chain_path: str = ''
    credential_bundle_path: str = ''
    key_path: str = ''
    key_type: str = ''
    max_expiration_seconds: Annotated[int, INT32] | None = None
    signer_name: str = ''
    user_annotations: dict[str, str] = field(default_factory=dict)


class PodCondition(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('status', 'type')
    last_probe_time: datetime | None = field(default_factory=NoneType)
    last_transition_time: datetime | None = field(default_factory=NoneType)
    message: str = ''
    observed_generation: int = 0
    reason: str = ''
    status: str = field(default_factory=str)
    type: str = field(default_factory=str)


class PodDNSConfig(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    nameservers: tuple[str, ...] = ()
    options: tuple[PodDNSConfigOption, ...] = ()
    searches: tuple[str, ...] = ()


class PodDNSConfigOption(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    name: str = ''
    value: str | None = None


class PodExtendedResourceClaimStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('requestMappings', 'resourceClaimName')
    request_mappings: Nullable[tuple[ContainerExtendedResourceRequest, ...]] = field(default_factory=nil_list)
    resource_claim_name: str = field(default_factory=str)

    def __post_init__(self) -> None:
        if not self.request_mappings:
            empty_as_null(self, 'request_mappings')


class PodIP(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('ip',)
    ip: str = field(default_factory=str)


class PodList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'PodList')
    api_version: str = field(default_factory=lambda: 'v1')
    items: tuple[Pod, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'PodList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class PodOS(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name',)
    name: str = field(default_factory=str)


class PodReadinessGate(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('conditionType',)
    condition_type: str = field(default_factory=str)


class PodResourceClaim(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name',)
    name: str = field(default_factory=str)
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodResourceClaimStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name',)
    name: str = field(default_factory=str)
    resource_claim_name: str | None = None


class PodSchedulingGate(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name',)
    name: str = field(default_factory=str)


class PodSchedulingGroup(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    pod_group_name: str | None = None


class PodSecurityContext(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    app_armor_profile: AppArmorProfile | None = None
    fs_group: int | None = None
    fs_group_change_policy: str | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    run_as_user: int | None = None
    se_linux_change_policy: str | None = None
    se_linux_options: SELinuxOptions | None = None
    seccomp_profile: SeccompProfile | None = None
    supplemental_groups: tuple[int, ...] = ()
    supplemental_groups_policy: str | None = None
    sysctls: tuple[Sysctl, ...] = ()
    windows_options: WindowsSecurityContextOptions | None = None


class PodSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('containers',)
    active_deadline_seconds: int | None = None
    affinity: Affinity | None = None
    automount_service_account_token: bool | None = None
    containers: Annotated[tuple[Container, ...], MergeKey('name'), ListMap('name')] = field(default_factory=empty_list)
    dns_config: PodDNSConfig | None = None
    dns_policy: str = ''
    enable_service_links: bool | None = None
    ephemeral_containers: Annotated[tuple[EphemeralContainer, ...], MergeKey('name'), ListMap('name')] = ()
    host_aliases: Annotated[tuple[HostAlias, ...], MergeKey('ip'), ListMap('ip')] = ()
    host_ipc: bool = field(default=False, name='hostIPC')
    host_network: bool = False
    host_pid: bool = field(default=False, name='hostPID')
    host_users: bool | None = None
    hostname: str = ''
    hostname_override: str | None = None
    image_pull_secrets: Annotated[tuple[LocalObjectReference, ...], MergeKey('name'), ListMap('name')] = ()
    init_containers: Annotated[tuple[Container, ...], MergeKey('name'), ListMap('name')] = ()
    node_name: str = ''
    node_selector: Annotated[dict[str, str], ATOMIC_MAP] = field(default_factory=dict)
    os: PodOS | None = None
    overhead: dict[str, Annotated[str, QUANTITY]] = field(default_factory=dict)
    preemption_policy: str | None = None
    priority: Annotated[int, INT32] | None = None
    priority_class_name: str = ''
    readiness_gates: tuple[PodReadinessGate, ...] = ()
    resource_claims: Annotated[tuple[PodResourceClaim, ...], MergeKey('name'), RETAIN_KEYS, ListMap('name')] = ()
    resources: ResourceRequirements | None = None
    restart_policy: str = ''
    runtime_class_name: str | None = None
    scheduler_name: str = ''
    scheduling_gates: Annotated[tuple[PodSchedulingGate, ...], MergeKey('name'), ListMap('name')] = ()
    scheduling_group: PodSchedulingGroup | None = None
    security_context: PodSecurityContext | None = None
    service_account: str = ''
    service_account_name: str = ''
    set_hostname_as_fqdn: bool | None = field(default=None, name='setHostnameAsFQDN')
    share_process_namespace: bool | None = None
    subdomain: str = ''
    termination_grace_period_seconds: int | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: Annotated[tuple[TopologySpreadConstraint, ...], MergeKey('topologyKey'), ListMap('topologyKey', 'whenUnsatisfiable')] = ()
    volumes: Annotated[tuple[Volume, ...], MergeKey('name'), RETAIN_KEYS, ListMap('name')] = ()


class PodStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    allocated_resources: dict[str, Annotated[str, QUANTITY]] = field(default_factory=dict)
    conditions: Annotated[tuple[PodCondition, ...], MergeKey('type'), ListMap('type')] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    ephemeral_container_statuses: tuple[ContainerStatus, ...] = ()
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    host_ip: str = field(default='', name='hostIP')
    host_ips: Annotated[tuple[HostIP, ...], MergeKey('ip')] = field(default=(), name='hostIPs')
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    message: str = ''
    node_allocatable_resource_claim_statuses: tuple[NodeAllocatableResourceClaimStatus, ...] = ()
    nominated_node_name: str = ''
    observed_generation: int = 0
    phase: str = ''
    pod_ip: str = field(default='', name='podIP')
    pod_ips: Annotated[tuple[PodIP, ...], MergeKey('ip'), ListMap('ip')] = field(default=(), name='podIPs')
    qos_class: str = ''
    reason: str = ''
    resize: str = ''
    resource_claim_statuses: Annotated[tuple[PodResourceClaimStatus, ...], MergeKey('name'), RETAIN_KEYS, ListMap('name')] = ()
    resources: ResourceRequirements | None = None
    start_time: datetime | None = None


class PodTemplate(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'PodTemplate')
    api_version: str = field(default_factory=lambda: 'v1')
    kind: str = field(default_factory=lambda: 'PodTemplate')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    template: PodTemplateSpec = field(default_factory=lambda: PodTemplateSpec())


class PodTemplateList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'PodTemplateList')
    api_version: str = field(default_factory=lambda: 'v1')
    items: tuple[PodTemplate, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'PodTemplateList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class PodTemplateSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: PodSpec = field(default_factory=lambda: PodSpec())


class PortStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('port', 'protocol')
    error: str | None = None
    port: Annotated[int, INT32] = field(default_factory=int)
    protocol: str = field(default_factory=str)


class PortworxVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('volumeID',)
    fs_type: str = ''
    read_only: bool = False
    volume_id: str = field(default_factory=str, name='volumeID')


class PreferredSchedulingTerm(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('preference', 'weight')
    preference: NodeSelectorTerm = field(default_factory=lambda: NodeSelectorTerm())
    weight: Annotated[int, INT32] = field(default_factory=int)


class Probe(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    exec: ExecAction | None = None
    failure_threshold: Annotated[int, INT32] = 0
    grpc: GRPCAction | None = None
    http_get: HTTPGetAction | None = None
    initial_delay_seconds: Annotated[int, INT32] = 0
    period_seconds: Annotated[int, INT32] = 0
    success_threshold: Annotated[int, INT32] = 0
    tcp_socket: TCPSocketAction | None = None
    termination_grace_period_seconds: int | None = None
    timeout_seconds: Annotated[int, INT32] = 0


class ProjectedVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    default_mode: Annotated[int, INT32] | None = None
    sources: Nullable[tuple[VolumeProjection, ...]] = field(default_factory=nil_list)

    def __post_init__(self) -> None:
        if not self.sources:
            empty_as_null(self, 'sources')


class QuobyteVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('registry', 'volume')
    group: str = ''
    read_only: bool = False
    registry: str = field(default_factory=str)
    tenant: str = ''
    user: str = ''
    volume: str = field(default_factory=str)


class RBDPersistentVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('image', 'monitors')
    fs_type: str = ''
    image: str = field(default_factory=str)
    keyring: str = ''
    monitors: tuple[str, ...] = field(default_factory=empty_list)
    pool: str = ''
    read_only: bool = False
    secret_ref: SecretReference | None = None
    user: str = ''


class RBDVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('image', 'monitors')
    fs_type: str = ''
    image: str = field(default_factory=str)
    keyring: str = ''
    monitors: tuple[str, ...] = field(default_factory=empty_list)
    pool: str = ''
    read_only: bool = False
    secret_ref: LocalObjectReference | None = None
    user: str = ''


class ReplicationController(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'ReplicationController')
    api_version: str = field(default_factory=lambda: 'v1')
    kind: str = field(default_factory=lambda: 'ReplicationController')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: ReplicationControllerSpec = field(default_factory=lambda: ReplicationControllerSpec())
    status: ReplicationControllerStatus = field(default_factory=lambda: ReplicationControllerStatus())


class ReplicationControllerCondition(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('status', 'type')
    last_transition_time: datetime | None = field(default_factory=NoneType)
    message: str = ''
    reason: str = ''
    status: str = field(default_factory=str)
    type: str = field(default_factory=str)


class ReplicationControllerList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'ReplicationControllerList')
    api_version: str = field(default_factory=lambda: 'v1')
    items: tuple[ReplicationController, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'ReplicationControllerList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class ReplicationControllerSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    min_ready_seconds: Annotated[int, INT32] = 0
    replicas: Annotated[int, INT32] | None = None
    selector: Annotated[dict[str, str], ATOMIC_MAP] = field(default_factory=dict)
    template: PodTemplateSpec | None = None


class ReplicationControllerStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('replicas',)
    available_replicas: Annotated[int, INT32] = 0
    conditions: Annotated[tuple[ReplicationControllerCondition, ...], MergeKey('type'), ListMap('type')] = ()
    fully_labeled_replicas: Annotated[int, INT32] = 0
    observed_generation: int = 0
    ready_replicas: Annotated[int, INT32] = 0
    replicas: Annotated[int, INT32] = field(default_factory=int)


class ResourceClaim(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name',)
    name: str = field(default_factory=str)
    request: str = ''


class ResourceFieldSelector(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('resource',)
    atomic_struct: ClassVar[bool] = True
    container_name: str = ''
    divisor: Annotated[str, QUANTITY] = field(default_factory=lambda: '0')
    resource: str = field(default_factory=str)


class ResourceHealth(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('resourceID',)
    health: str = ''
    message: str | None = None
    resource_id: str = field(default_factory=str, name='resourceID')


class ResourceQuota(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'ResourceQuota')
    api_version: str = field(default_factory=lambda: 'v1')
    kind: str = field(default_factory=lambda: 'ResourceQuota')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: ResourceQuotaSpec = field(default_factory=lambda: ResourceQuotaSpec())
    status: ResourceQuotaStatus = field(default_factory=lambda: ResourceQuotaStatus())


class ResourceQuotaList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'ResourceQuotaList')
    api_version: str = field(default_factory=lambda: 'v1')
    items: tuple[ResourceQuota, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'ResourceQuotaList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class ResourceQuotaSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    hard: dict[str, Annotated[str, QUANTITY]] = field(default_factory=dict)
    scope_selector: ScopeSelector | None = None
    scopes: tuple[str, ...] = ()


class ResourceQuotaStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    hard: dict[str, Annotated[str, QUANTITY]] = field(default_factory=dict)
    used: dict[str, Annotated[str, QUANTITY]] = field(default_factory=dict)


class ResourceRequirements(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    claims: Annotated[tuple[ResourceClaim, ...], ListMap('name')] = ()
    limits: dict[str, Annotated[str, QUANTITY]] = field(default_factory=dict)
    requests: dict[str, Annotated[str, QUANTITY]] = field(default_factory=dict)


class ResourceStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name',)
    name: str = field(default_factory=str)
    resources: Annotated[tuple[ResourceHealth, ...], ListMap('resourceID')] = ()


class SELinuxOptions(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    level: str = ''
    role: str = ''
    type: str = ''
    user: str = ''


class ScaleIOPersistentVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('gateway', 'secretRef', 'system')
    fs_type: str = ''
    gateway: str = field(default_factory=str)
    protection_domain: str = ''
    read_only: bool = False
    secret_ref: SecretReference = field(default_factory=lambda: SecretReference())
    ssl_enabled: bool = False
    storage_mode: str = ''
    storage_pool: str = ''
    system: str = field(default_factory=str)
    volume_name: str = ''


class ScaleIOVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('gateway', 'secretRef', 'system')
    fs_type: str = ''
    gateway: str = field(default_factory=str)
    protection_domain: str = ''
    read_only: bool = False
    secret_ref: LocalObjectReference = field(default_factory=lambda: LocalObjectReference())
    ssl_enabled: bool = False
    storage_mode: str = ''
    storage_pool: str = ''
    system: str = field(default_factory=str)
    volume_name: str = ''


class ScopeSelector(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    atomic_struct: ClassVar[bool] = True
    match_expressions: tuple[ScopedResourceSelectorRequirement, ...] = ()


class ScopedResourceSelectorRequirement(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('operator', 'scopeName')
    operator: str = field(default_factory=str)
    scope_name: str = field(default_factory=str)
    values: tuple[str, ...] = ()


class SeccompProfile(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('type',)
    localhost_profile: str | None = None
    type: str = field(default_factory=str)


class Secret(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'Secret')
    api_version: str = field(default_factory=lambda: 'v1')
    data: dict[str, Annotated[str, BYTES]] = field(default_factory=dict)
    immutable: bool | None = None
    kind: str = field(default_factory=lambda: 'Secret')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    string_data: dict[str, str] = field(default_factory=dict)
    type: str = ''


class SecretEnvSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    name: str = ''
    optional: bool | None = None


class SecretKeySelector(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('key',)
    atomic_struct: ClassVar[bool] = True
    key: str = field(default_factory=str)
    name: str = ''
    optional: bool | None = None


class SecretList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'SecretList')
    api_version: str = field(default_factory=lambda: 'v1')
    items: tuple[Secret, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'SecretList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class SecretProjection(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    items: tuple[KeyToPath, ...] = ()
    name: str = ''
    optional: bool | None = None


class SecretReference(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    atomic_struct: ClassVar[bool] = True
    name: str = ''
    namespace: str = ''


class SecretVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    default_mode: Annotated[int, INT32] | None = None
    items: tuple[KeyToPath, ...] = ()
    optional: bool | None = None
    secret_name: str = ''


class SecurityContext(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    allow_privilege_escalation: bool | None = None
    app_armor_profile: AppArmorProfile | None = None
    capabilities: Capabilities | None = None
    privileged: bool | None = None
    proc_mount: str | None = None
    read_only_root_filesystem: bool | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    run_as_user: int | None = None
    se_linux_options: SELinuxOptions | None = None
    seccomp_profile: SeccompProfile | None = None
    windows_options: WindowsSecurityContextOptions | None = None


class Service(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'Service')
    api_version: str = field(default_factory=lambda: 'v1')
    kind: str = field(default_factory=lambda: 'Service')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: ServiceSpec = field(default_factory=lambda: ServiceSpec())
    status: ServiceStatus = field(default_factory=lambda: ServiceStatus())


class ServiceAccount(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'ServiceAccount')
    api_version: str = field(default_factory=lambda: 'v1')
    automount_service_account_token: bool | None = None
    image_pull_secrets: tuple[LocalObjectReference, ...] = ()
    kind: str = field(default_factory=lambda: 'ServiceAccount')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    secrets: Annotated[tuple[ObjectReference, ...], MergeKey('name'), ListMap('name')] = ()


class ServiceAccountList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'ServiceAccountList')
    api_version: str = field(default_factory=lambda: 'v1')
    items: tuple[ServiceAccount, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'ServiceAccountList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class ServiceAccountTokenProjection(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('path',)
    audience: str = ''
    expiration_seconds: int | None = None
    path: str = field(default_factory=str)


class ServiceList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('', 'v1', 'ServiceList')
    api_version: str = field(default_factory=lambda: 'v1')
    items: tuple[Service, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'ServiceList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class ServicePort(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('port',)
    app_protocol: str | None = None
    name: str = ''
    node_port: Annotated[int, INT32] = 0
    port: Annotated[int, INT32] = field(default_factory=int)
    protocol: str = ''
    target_port: int | str = field(default_factory=int)


class ServiceSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    allocate_load_balancer_node_ports: bool | None = None
    cluster_ip: str = field(default='', name='clusterIP')
    cluster_ips: tuple[str, ...] = field(default=(), name='clusterIPs')
    external_ips: tuple[str, ...] = field(default=(), name='externalIPs')
    external_name: str = ''
    external_traffic_policy: str = ''
    health_check_node_port: Annotated[int, INT32] = 0
    internal_traffic_policy: str | None = None
    ip_families: tuple[str, ...] = ()
    ip_family_policy: str | None = None
    load_balancer_class: str | None = None
    load_balancer_ip: str = field(default='', name='loadBalancerIP')
    load_balancer_source_ranges: tuple[str, ...] = ()
    ports: Annotated[tuple[ServicePort, ...], MergeKey('port'), ListMap('port', 'protocol')] = ()
    publish_not_ready_addresses: bool = False
    selector: Annotated[dict[str, str], ATOMIC_MAP] = field(default_factory=dict)
    session_affinity: str = ''
    session_affinity_config: SessionAffinityConfig | None = None
    traffic_distribution: str | None = None
    type: str = ''


class ServiceStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    conditions: Annotated[tuple[Condition, ...], MergeKey('type'), ListMap('type')] = ()
    load_balancer: LoadBalancerStatus = field(default_factory=lambda: LoadBalancerStatus())


class SessionAffinityConfig(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    client_ip: ClientIPConfig | None = field(default=None, name='clientIP')


class SleepAction(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('seconds',)
    seconds: int = field(default_factory=int)


class StorageOSPersistentVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    fs_type: str = ''
    read_only: bool = False
    secret_ref: ObjectReference | None = None
    volume_name: str = ''
    volume_namespace: str = ''


class StorageOSVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    fs_type: str = ''
    read_only: bool = False
    secret_ref: LocalObjectReference | None = None
    volume_name: str = ''
    volume_namespace: str = ''


class Sysctl(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name', 'value')
    name: str = field(default_factory=str)
    value: str = field(default_factory=str)


class TCPSocketAction(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('port',)
    host: str = ''
    port: int | str = field(default_factory=int)


class Taint(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('effect', 'key')
    effect: str = field(default_factory=str)
    key: str = field(default_factory=str)
    time_added: datetime | None = None
    value: str = ''


class Toleration(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    effect: str = ''
    key: str = ''
    operator: str = ''
    toleration_seconds: int | None = None
    value: str = ''


class TopologySelectorLabelRequirement(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('key', 'values')
    key: str = field(default_factory=str)
    values: tuple[str, ...] = field(default_factory=empty_list)


class TopologySelectorTerm(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    atomic_struct: ClassVar[bool] = True
    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] = ()


class TopologySpreadConstraint(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('maxSkew', 'topologyKey', 'whenUnsatisfiable')
    label_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    max_skew: Annotated[int, INT32] = field(default_factory=int)
    min_domains: Annotated[int, INT32] | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    topology_key: str = field(default_factory=str)
    when_unsatisfiable: str = field(default_factory=str)


class TypedLocalObjectReference(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('kind', 'name')
    atomic_struct: ClassVar[bool] = True
    api_group: str | None = field(default_factory=NoneType)
    kind: str = field(default_factory=str)
    name: str = field(default_factory=str)


class TypedObjectReference(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('kind', 'name')
    api_group: str | None = field(default_factory=NoneType)
    kind: str = field(default_factory=str)
    name: str = field(default_factory=str)
    namespace: str | None = None


class Volume(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name',)
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cephfs: CephFSVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    config_map: ConfigMapVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    downward_api: DownwardAPIVolumeSource | None = field(default=None, name='downwardAPI')
    empty_dir: EmptyDirVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    fc: FCVolumeSource | None = None
    flex_volume: FlexVolumeSource | None = None
    flocker: FlockerVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    git_repo: GitRepoVolumeSource | None = None
    glusterfs: GlusterfsVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None
    image: ImageVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    name: str = field(default_factory=str)
    nfs: NFSVolumeSource | None = None
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    photon_persistent_disk: PhotonPersistentDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    projected: ProjectedVolumeSource | None = None
    quobyte: QuobyteVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    scale_io: ScaleIOVolumeSource | None = field(default=None, name='scaleIO')
    secret: SecretVolumeSource | None = None
    storageos: StorageOSVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None


class VolumeDevice(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('devicePath', 'name')
    device_path: str = field(default_factory=str)
    name: str = field(default_factory=str)


class VolumeMount(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('mountPath', 'name')
    mount_path: str = field(default_factory=str)
    mount_propagation: str | None = None
    name: str = field(default_factory=str)
    read_only: bool = False
    recursive_read_only: str | None = None
    sub_path: str = ''
    sub_path_expr: str = ''


class VolumeMountStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('mountPath', 'name')
    mount_path: str = field(default_factory=str)
    name: str = field(default_factory=str)
    read_only: bool = False
    recursive_read_only: str | None = None
    volume_status: VolumeStatus | None = None


class VolumeNodeAffinity(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required: NodeSelector | None = None


class VolumeProjection(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    cluster_trust_bundle: ClusterTrustBundleProjection | None = None
    config_map: ConfigMapProjection | None = None
    downward_api: DownwardAPIProjection | None = field(default=None, name='downwardAPI')
    pod_certificate: PodCertificateProjection | None = None
    secret: SecretProjection | None = None
    service_account_token: ServiceAccountTokenProjection | None = None


class VolumeResourceRequirements(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    limits: dict[str, Annotated[str, QUANTITY]] = field(default_factory=dict)
    requests: dict[str, Annotated[str, QUANTITY]] = field(default_factory=dict)


class VolumeStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    image: ImageVolumeStatus | None = None


class VsphereVirtualDiskVolumeSource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('volumePath',)
    fs_type: str = ''
    storage_policy_id: str = field(default='', name='storagePolicyID')
    storage_policy_name: str = ''
    volume_path: str = field(default_factory=str)


class WeightedPodAffinityTerm(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('podAffinityTerm', 'weight')
    pod_affinity_term: PodAffinityTerm = field(default_factory=lambda: PodAffinityTerm())
    weight: Annotated[int, INT32] = field(default_factory=int)


class WindowsSecurityContextOptions(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    gmsa_credential_spec: str | None = None
    gmsa_credential_spec_name: str | None = None
    host_process: bool | None = None
    run_as_user_name: str | None = None

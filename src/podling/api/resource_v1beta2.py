"""Kubernetes v1.36 types of resource/v1beta2. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from datetime import datetime
from types import NoneType
from typing import Annotated, Any, ClassVar

from msgspec import Struct, field

from podling.api._zero import Nullable, empty_as_null, empty_list, nil_list
from podling.api.core_v1 import NodeSelector
from podling.api.markers import ListMap, MergeKey, QUANTITY
from podling.api.meta_v1 import Condition, ListMeta, ObjectMeta


class AllocatedDeviceStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('device', 'driver', 'pool')
    conditions: Nullable[Annotated[tuple[Condition, ...], ListMap('type')]] = field(default_factory=nil_list)
    data: Any = None
    device: str = field(default_factory=str)
    driver: str = field(default_factory=str)
    network_data: NetworkDeviceData | None = None
    pool: str = field(default_factory=str)
    share_id: str | None = field(default=None, name='shareID')

    def __post_init__(self) -> None:
        if not self.conditions:
            empty_as_null(self, 'conditions')


class AllocationResult(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    allocation_timestamp: datetime | None = None
    devices: DeviceAllocationResult = field(default_factory=lambda: DeviceAllocationResult())
    node_selector: NodeSelector | None = None


class CELDeviceSelector(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('expression',)
    expression: str = field(default_factory=str)


class CapacityRequestPolicy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    default: Annotated[str, QUANTITY] | None = field(default_factory=NoneType)
    valid_range: CapacityRequestPolicyRange | None = None
    valid_values: tuple[Annotated[str, QUANTITY], ...] = ()


class CapacityRequestPolicyRange(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('min',)
    max: Annotated[str, QUANTITY] | None = None
    min: Annotated[str, QUANTITY] | None = None
    step: Annotated[str, QUANTITY] | None = None


class CapacityRequirements(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    requests: dict[str, Annotated[str, QUANTITY]] = field(default_factory=dict)


class Counter(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('value',)
    value: Annotated[str, QUANTITY] = field(default_factory=lambda: '0')


class CounterSet(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('counters', 'name')
    counters: dict[str, Counter] = field(default_factory=dict)
    name: str = field(default_factory=str)


class Device(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name',)
    all_nodes: bool | None = None
    allow_multiple_allocations: bool | None = None
    attributes: dict[str, DeviceAttribute] = field(default_factory=dict)
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    binds_to_node: bool | None = None
    capacity: dict[str, DeviceCapacity] = field(default_factory=dict)
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    name: str = field(default_factory=str)
    node_allocatable_resource_mappings: dict[str, NodeAllocatableResourceMapping] = field(default_factory=dict)
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    taints: tuple[DeviceTaint, ...] = ()


class DeviceAllocationConfiguration(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('source',)
    opaque: OpaqueDeviceConfiguration | None = None
    requests: tuple[str, ...] = ()
    source: str = field(default_factory=str)


class DeviceAllocationResult(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    config: tuple[DeviceAllocationConfiguration, ...] = ()
    results: tuple[DeviceRequestAllocationResult, ...] = ()


class DeviceAttribute(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    bool_: bool | None = None
    bools: tuple[bool, ...] = ()
    int_: int | None = None
    ints: tuple[int, ...] = ()
    string: str | None = None
    strings: tuple[str, ...] = ()
    version: str | None = None
    versions: tuple[str, ...] = ()


class DeviceCapacity(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('value',)
    request_policy: CapacityRequestPolicy | None = None
    value: Annotated[str, QUANTITY] = field(default_factory=lambda: '0')


class DeviceClaim(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    config: tuple[DeviceClaimConfiguration, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    requests: Nullable[tuple[DeviceRequest, ...]] = field(default_factory=nil_list)

    def __post_init__(self) -> None:
        if not self.requests:
            empty_as_null(self, 'requests')


class DeviceClaimConfiguration(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    opaque: OpaqueDeviceConfiguration | None = None
    requests: tuple[str, ...] = ()


class DeviceClass(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('resource.k8s.io', 'v1beta2', 'DeviceClass')
    api_version: str = field(default_factory=lambda: 'resource.k8s.io/v1beta2')
    kind: str = field(default_factory=lambda: 'DeviceClass')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: DeviceClassSpec = field(default_factory=lambda: DeviceClassSpec())


class DeviceClassConfiguration(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClassList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('resource.k8s.io', 'v1beta2', 'DeviceClassList')
    api_version: str = field(default_factory=lambda: 'resource.k8s.io/v1beta2')
    items: tuple[DeviceClass, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'DeviceClassList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class DeviceClassSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    config: tuple[DeviceClassConfiguration, ...] = ()
    extended_resource_name: str | None = None
    selectors: tuple[DeviceSelector, ...] = ()


class DeviceConstraint(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    distinct_attribute: str | None = None
    match_attribute: str | None = None
    requests: tuple[str, ...] = ()


class DeviceCounterConsumption(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('counterSet', 'counters')
    counter_set: str = field(default_factory=str)
    counters: dict[str, Counter] = field(default_factory=dict)


class DeviceRequest(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name',)
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()
    name: str = field(default_factory=str)


class DeviceRequestAllocationResult(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('device', 'driver', 'pool', 'request')
    admin_access: bool | None = None
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    consumed_capacity: dict[str, Annotated[str, QUANTITY]] = field(default_factory=dict)
    device: str = field(default_factory=str)
    driver: str = field(default_factory=str)
    pool: str = field(default_factory=str)
    request: str = field(default_factory=str)
    share_id: str | None = field(default=None, name='shareID')
    tolerations: tuple[DeviceToleration, ...] = ()


class DeviceSelector(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    cel: CELDeviceSelector | None = None


class DeviceSubRequest(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('deviceClassName', 'name')
    allocation_mode: str = ''
    capacity: CapacityRequirements | None = None
    count: int = 0
    device_class_name: str = field(default_factory=str)
    name: str = field(default_factory=str)
    selectors: tuple[DeviceSelector, ...] = ()
    tolerations: tuple[DeviceToleration, ...] = ()


class DeviceTaint(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('effect', 'key')
    effect: str = field(default_factory=str)
    key: str = field(default_factory=str)
    time_added: datetime | None = None
    value: str = ''


class DeviceTaintRule(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('resource.k8s.io', 'v1beta2', 'DeviceTaintRule')
    api_version: str = field(default_factory=lambda: 'resource.k8s.io/v1beta2')
    kind: str = field(default_factory=lambda: 'DeviceTaintRule')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: DeviceTaintRuleSpec = field(default_factory=lambda: DeviceTaintRuleSpec())
    status: DeviceTaintRuleStatus = field(default_factory=lambda: DeviceTaintRuleStatus())


class DeviceTaintRuleList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('resource.k8s.io', 'v1beta2', 'DeviceTaintRuleList')
    api_version: str = field(default_factory=lambda: 'resource.k8s.io/v1beta2')
    items: tuple[DeviceTaintRule, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'DeviceTaintRuleList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class DeviceTaintRuleSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('taint',)
    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = field(default_factory=lambda: DeviceTaint())


class DeviceTaintRuleStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    conditions: Annotated[tuple[Condition, ...], MergeKey('type'), ListMap('type')] = ()


class DeviceTaintSelector(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    device: str | None = None
    driver: str | None = None
    pool: str | None = None


class DeviceToleration(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    effect: str = ''
    key: str = ''
    operator: str = ''
    toleration_seconds: int | None = None
    value: str = ''


class ExactDeviceRequest(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('deviceClassName',)
    admin_access: bool | None = None
    allocation_mode: str = ''
    capacity: CapacityRequirements | None = None
    count: int = 0
    device_class_name: str = field(default_factory=str)
    selectors: tuple[DeviceSelector, ...] = ()
    tolerations: tuple[DeviceToleration, ...] = ()


class NetworkDeviceData(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    hardware_address: str = ''
    interface_name: str = ''
    ips: tuple[str, ...] = ()


class NodeAllocatableResourceMapping(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    allocation_multiplier: Annotated[str, QUANTITY] | None = None
    capacity_key: str | None = None


class OpaqueDeviceConfiguration(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('driver', 'parameters')
    driver: str = field(default_factory=str)
    parameters: Any = field(default_factory=NoneType)


class ResourceClaim(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('resource.k8s.io', 'v1beta2', 'ResourceClaim')
    api_version: str = field(default_factory=lambda: 'resource.k8s.io/v1beta2')
    kind: str = field(default_factory=lambda: 'ResourceClaim')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: ResourceClaimSpec = field(default_factory=lambda: ResourceClaimSpec())
    status: ResourceClaimStatus = field(default_factory=lambda: ResourceClaimStatus())


class ResourceClaimConsumerReference(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name', 'resource', 'uid')
    api_group: str = ''
    name: str = field(default_factory=str)
    resource: str = field(default_factory=str)
    uid: str = field(default_factory=str)


class ResourceClaimList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('resource.k8s.io', 'v1beta2', 'ResourceClaimList')
    api_version: str = field(default_factory=lambda: 'resource.k8s.io/v1beta2')
    items: tuple[ResourceClaim, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'ResourceClaimList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class ResourceClaimSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    devices: DeviceClaim = field(default_factory=lambda: DeviceClaim())


class ResourceClaimStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    allocation: AllocationResult | None = None
    devices: Annotated[tuple[AllocatedDeviceStatus, ...], ListMap('driver', 'device', 'pool', 'shareID')] = ()
    reserved_for: Annotated[tuple[ResourceClaimConsumerReference, ...], MergeKey('uid'), ListMap('uid')] = ()


class ResourceClaimTemplate(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('resource.k8s.io', 'v1beta2', 'ResourceClaimTemplate')
    api_version: str = field(default_factory=lambda: 'resource.k8s.io/v1beta2')
    kind: str = field(default_factory=lambda: 'ResourceClaimTemplate')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: ResourceClaimTemplateSpec = field(default_factory=lambda: ResourceClaimTemplateSpec())


class ResourceClaimTemplateList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('resource.k8s.io', 'v1beta2', 'ResourceClaimTemplateList')
    api_version: str = field(default_factory=lambda: 'resource.k8s.io/v1beta2')
    items: tuple[ResourceClaimTemplate, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'ResourceClaimTemplateList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class ResourceClaimTemplateSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: ResourceClaimSpec = field(default_factory=lambda: ResourceClaimSpec())


class ResourcePool(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('generation', 'name', 'resourceSliceCount')
    generation: int = field(default_factory=int)
    name: str = field(default_factory=str)
    resource_slice_count: int = field(default_factory=int)


class ResourceSlice(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('resource.k8s.io', 'v1beta2', 'ResourceSlice')
    api_version: str = field(default_factory=lambda: 'resource.k8s.io/v1beta2')
    kind: str = field(default_factory=lambda: 'ResourceSlice')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: ResourceSliceSpec = field(default_factory=lambda: ResourceSliceSpec())


class ResourceSliceList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('resource.k8s.io', 'v1beta2', 'ResourceSliceList')
    api_version: str = field(default_factory=lambda: 'resource.k8s.io/v1beta2')
    items: tuple[ResourceSlice, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'ResourceSliceList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class ResourceSliceSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('driver', 'pool')
    all_nodes: bool | None = None
    devices: tuple[Device, ...] = ()
    driver: str = field(default_factory=str)
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    per_device_node_selection: bool | None = None
    pool: ResourcePool = field(default_factory=lambda: ResourcePool())
    shared_counters: tuple[CounterSet, ...] = ()

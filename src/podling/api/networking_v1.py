"""Kubernetes v1.36 types of networking/v1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from types import NoneType
from typing import Annotated, ClassVar

from msgspec import Struct, field

from podling.api._zero import empty_list
from podling.api.core_v1 import TypedLocalObjectReference
from podling.api.markers import INT32, ListMap, MergeKey
from podling.api.meta_v1 import Condition, LabelSelector, ListMeta, ObjectMeta


class HTTPIngressPath(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('backend', 'pathType')
    backend: IngressBackend = field(default_factory=lambda: IngressBackend())
    path: str = ''
    path_type: str | None = field(default_factory=NoneType)


class HTTPIngressRuleValue(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('paths',)
    paths: tuple[HTTPIngressPath, ...] = field(default_factory=empty_list)


class IPAddress(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('networking.k8s.io', 'v1', 'IPAddress')
    api_version: str = field(default_factory=lambda: 'networking.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'IPAddress')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: IPAddressSpec = field(default_factory=lambda: IPAddressSpec())


class IPAddressList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('networking.k8s.io', 'v1', 'IPAddressList')
    api_version: str = field(default_factory=lambda: 'networking.k8s.io/v1')
    items: tuple[IPAddress, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'IPAddressList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class IPAddressSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('parentRef',)
    parent_ref: ParentReference = field(default_factory=lambda: ParentReference())


class IPBlock(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('cidr',)
    cidr: str = field(default_factory=str)
    except_: tuple[str, ...] = ()


class Ingress(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('networking.k8s.io', 'v1', 'Ingress')
    api_version: str = field(default_factory=lambda: 'networking.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'Ingress')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: IngressSpec = field(default_factory=lambda: IngressSpec())
    status: IngressStatus = field(default_factory=lambda: IngressStatus())


class IngressBackend(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    resource: TypedLocalObjectReference | None = None
    service: IngressServiceBackend | None = None


class IngressClass(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('networking.k8s.io', 'v1', 'IngressClass')
    api_version: str = field(default_factory=lambda: 'networking.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'IngressClass')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: IngressClassSpec = field(default_factory=lambda: IngressClassSpec())


class IngressClassList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('networking.k8s.io', 'v1', 'IngressClassList')
    api_version: str = field(default_factory=lambda: 'networking.k8s.io/v1')
    items: tuple[IngressClass, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'IngressClassList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class IngressClassParametersReference(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('kind', 'name')
    api_group: str | None = None
    kind: str = field(default_factory=str)
    name: str = field(default_factory=str)
    namespace: str | None = None
    scope: str | None = field(default_factory=NoneType)


class IngressClassSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    controller: str = ''
    parameters: IngressClassParametersReference | None = None


class IngressList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('networking.k8s.io', 'v1', 'IngressList')
    api_version: str = field(default_factory=lambda: 'networking.k8s.io/v1')
    items: tuple[Ingress, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'IngressList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class IngressLoadBalancerIngress(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    hostname: str = ''
    ip: str = ''
    ports: tuple[IngressPortStatus, ...] = ()


class IngressLoadBalancerStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    ingress: tuple[IngressLoadBalancerIngress, ...] = ()


class IngressPortStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('port', 'protocol')
    error: str | None = None
    port: Annotated[int, INT32] = field(default_factory=int)
    protocol: str = field(default_factory=str)


class IngressRule(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    host: str = ''
    http: HTTPIngressRuleValue | None = None


class IngressServiceBackend(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name',)
    name: str = field(default_factory=str)
    port: ServiceBackendPort = field(default_factory=lambda: ServiceBackendPort())


class IngressSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    default_backend: IngressBackend | None = None
    ingress_class_name: str | None = None
    rules: tuple[IngressRule, ...] = ()
    tls: tuple[IngressTLS, ...] = ()


class IngressStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    load_balancer: IngressLoadBalancerStatus = field(default_factory=lambda: IngressLoadBalancerStatus())


class IngressTLS(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    hosts: tuple[str, ...] = ()
    secret_name: str = ''


class NetworkPolicy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('networking.k8s.io', 'v1', 'NetworkPolicy')
    api_version: str = field(default_factory=lambda: 'networking.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'NetworkPolicy')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: NetworkPolicySpec = field(default_factory=lambda: NetworkPolicySpec())


class NetworkPolicyEgressRule(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    ports: tuple[NetworkPolicyPort, ...] = ()
    to: tuple[NetworkPolicyPeer, ...] = ()


class NetworkPolicyIngressRule(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    from_: tuple[NetworkPolicyPeer, ...] = ()
    ports: tuple[NetworkPolicyPort, ...] = ()


class NetworkPolicyList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('networking.k8s.io', 'v1', 'NetworkPolicyList')
    api_version: str = field(default_factory=lambda: 'networking.k8s.io/v1')
    items: tuple[NetworkPolicy, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'NetworkPolicyList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class NetworkPolicyPeer(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    ip_block: IPBlock | None = None
    namespace_selector: LabelSelector | None = None
    pod_selector: LabelSelector | None = None


class NetworkPolicyPort(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    end_port: Annotated[int, INT32] | None = None
    port: int | str | None = None
    protocol: str | None = None


class NetworkPolicySpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    egress: tuple[NetworkPolicyEgressRule, ...] = ()
    ingress: tuple[NetworkPolicyIngressRule, ...] = ()
    pod_selector: LabelSelector = field(default_factory=lambda: LabelSelector())
    policy_types: tuple[str, ...] = ()


class ParentReference(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name', 'resource')
    group: str = ''
    name: str = ''
    namespace: str = ''
    resource: str = ''


class ServiceBackendPort(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    atomic_struct: ClassVar[bool] = True
    name: str = ''
    number: Annotated[int, INT32] = 0


class ServiceCIDR(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('networking.k8s.io', 'v1', 'ServiceCIDR')
    api_version: str = field(default_factory=lambda: 'networking.k8s.io/v1')
    kind: str = field(default_factory=lambda: 'ServiceCIDR')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: ServiceCIDRSpec = field(default_factory=lambda: ServiceCIDRSpec())
    status: ServiceCIDRStatus = field(default_factory=lambda: ServiceCIDRStatus())


class ServiceCIDRList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('networking.k8s.io', 'v1', 'ServiceCIDRList')
    api_version: str = field(default_factory=lambda: 'networking.k8s.io/v1')
    items: tuple[ServiceCIDR, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'ServiceCIDRList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class ServiceCIDRSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    cidrs: tuple[str, ...] = ()


class ServiceCIDRStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    conditions: Annotated[tuple[Condition, ...], MergeKey('type'), ListMap('type')] = ()

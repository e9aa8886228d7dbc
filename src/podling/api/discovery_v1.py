"""Kubernetes v1.36 types of discovery/v1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Struct, field

from podling.api._zero import Nullable, empty_as_null, empty_list, nil_list
from podling.api.core_v1 import ObjectReference
from podling.api.markers import INT32, LIST_SET
from podling.api.meta_v1 import ListMeta, ObjectMeta


class Endpoint(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('addresses',)
    addresses: Annotated[tuple[str, ...], LIST_SET] = field(default_factory=empty_list)
    conditions: EndpointConditions = field(default_factory=lambda: EndpointConditions())
    deprecated_topology: dict[str, str] = field(default_factory=dict)
    hints: EndpointHints | None = None
    hostname: str | None = None
    node_name: str | None = None
    target_ref: ObjectReference | None = None
    zone: str | None = None


class EndpointConditions(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class EndpointHints(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    for_nodes: tuple[ForNode, ...] = ()
    for_zones: tuple[ForZone, ...] = ()


class EndpointPort(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    atomic_struct: ClassVar[bool] = True
    app_protocol: str | None = None
    name: str | None = None
    port: Annotated[int, INT32] | None = None
    protocol: str | None = None


class EndpointSlice(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('addressType',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('discovery.k8s.io', 'v1', 'EndpointSlice')
    address_type: str = field(default_factory=str)
    api_version: str = field(default_factory=lambda: 'discovery.k8s.io/v1')
    endpoints: Nullable[tuple[Endpoint, ...]] = field(default_factory=nil_list)
    kind: str = field(default_factory=lambda: 'EndpointSlice')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    ports: Nullable[tuple[EndpointPort, ...]] = field(default_factory=nil_list)

    def __post_init__(self) -> None:
        if not self.endpoints:
            empty_as_null(self, 'endpoints')
        if not self.ports:
            empty_as_null(self, 'ports')


class EndpointSliceList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('discovery.k8s.io', 'v1', 'EndpointSliceList')
    api_version: str = field(default_factory=lambda: 'discovery.k8s.io/v1')
    items: tuple[EndpointSlice, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'EndpointSliceList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class ForNode(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name',)
    name: str = field(default_factory=str)


class ForZone(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('name',)
    name: str = field(default_factory=str)

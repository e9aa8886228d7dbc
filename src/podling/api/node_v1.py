"""Kubernetes v1.36 types of node/v1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Struct, field

from podling.api._zero import empty_list
from podling.api.core_v1 import Toleration
from podling.api.markers import ATOMIC_MAP, QUANTITY
from podling.api.meta_v1 import ListMeta, ObjectMeta


class Overhead(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    pod_fixed: dict[str, Annotated[str, QUANTITY]] = field(default_factory=dict)


class RuntimeClass(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('handler',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('node.k8s.io', 'v1', 'RuntimeClass')
    api_version: str = field(default_factory=lambda: 'node.k8s.io/v1')
    handler: str = field(default_factory=str)
    kind: str = field(default_factory=lambda: 'RuntimeClass')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    overhead: Overhead | None = None
    scheduling: Scheduling | None = None


class RuntimeClassList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('node.k8s.io', 'v1', 'RuntimeClassList')
    api_version: str = field(default_factory=lambda: 'node.k8s.io/v1')
    items: tuple[RuntimeClass, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'RuntimeClassList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class Scheduling(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    node_selector: Annotated[dict[str, str], ATOMIC_MAP] = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()

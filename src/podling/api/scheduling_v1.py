"""Kubernetes v1.36 types of scheduling/v1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Struct, field

from podling.api._zero import empty_list
from podling.api.markers import INT32
from podling.api.meta_v1 import ListMeta, ObjectMeta


class PriorityClass(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('scheduling.k8s.io', 'v1', 'PriorityClass')
    api_version: str = field(default_factory=lambda: 'scheduling.k8s.io/v1')
    description: str = ''
    global_default: bool = False
    kind: str = field(default_factory=lambda: 'PriorityClass')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    preemption_policy: str | None = None
    value: Annotated[int, INT32] = field(default_factory=int)


class PriorityClassList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('scheduling.k8s.io', 'v1', 'PriorityClassList')
    api_version: str = field(default_factory=lambda: 'scheduling.k8s.io/v1')
    items: tuple[PriorityClass, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'PriorityClassList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())

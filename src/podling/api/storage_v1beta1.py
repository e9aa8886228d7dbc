"""Kubernetes v1.36 types of storage/v1beta1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct, field

from podling.api._zero import empty_list
from podling.api.meta_v1 import ListMeta, ObjectMeta


class VolumeAttributesClass(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('driverName',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('storage.k8s.io', 'v1beta1', 'VolumeAttributesClass')
    api_version: str = field(default_factory=lambda: 'storage.k8s.io/v1beta1')
    driver_name: str = field(default_factory=str)
    kind: str = field(default_factory=lambda: 'VolumeAttributesClass')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    parameters: dict[str, str] = field(default_factory=dict)


class VolumeAttributesClassList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('storage.k8s.io', 'v1beta1', 'VolumeAttributesClassList')
    api_version: str = field(default_factory=lambda: 'storage.k8s.io/v1beta1')
    items: tuple[VolumeAttributesClass, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'VolumeAttributesClassList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())

"""Kubernetes v1.36 types of certificates/v1alpha1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct, field

from podling.api._zero import empty_list
from podling.api.meta_v1 import ListMeta, ObjectMeta


class ClusterTrustBundle(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('certificates.k8s.io', 'v1alpha1', 'ClusterTrustBundle')
    api_version: str = field(default_factory=lambda: 'certificates.k8s.io/v1alpha1')
    kind: str = field(default_factory=lambda: 'ClusterTrustBundle')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: ClusterTrustBundleSpec = field(default_factory=lambda: ClusterTrustBundleSpec())


class ClusterTrustBundleList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('certificates.k8s.io', 'v1alpha1', 'ClusterTrustBundleList')
    api_version: str = field(default_factory=lambda: 'certificates.k8s.io/v1alpha1')
    items: tuple[ClusterTrustBundle, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'ClusterTrustBundleList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class ClusterTrustBundleSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('trustBundle',)
    signer_name: str = ''
    trust_bundle: str = field(default_factory=str)

"""Kubernetes v1.36 types of certificates/v1beta1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar

from msgspec import Struct, field

from podling.api._zero import empty_list
from podling.api.markers import BYTES, INT32, ListMap, MergeKey
from podling.api.meta_v1 import Condition, ListMeta, ObjectMeta


class ClusterTrustBundle(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('certificates.k8s.io', 'v1beta1', 'ClusterTrustBundle')
    api_version: str = field(default_factory=lambda: 'certificates.k8s.io/v1beta1')
    kind: str = field(default_factory=lambda: 'ClusterTrustBundle')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: ClusterTrustBundleSpec = field(default_factory=lambda: ClusterTrustBundleSpec())


class ClusterTrustBundleList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('certificates.k8s.io', 'v1beta1', 'ClusterTrustBundleList')
    api_version: str = field(default_factory=lambda: 'certificates.k8s.io/v1beta1')
    items: tuple[ClusterTrustBundle, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'ClusterTrustBundleList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class ClusterTrustBundleSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('trustBundle',)
    signer_name: str = ''
    trust_bundle: str = field(default_factory=str)


class PodCertificateRequest(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('certificates.k8s.io', 'v1beta1', 'PodCertificateRequest')
    api_version: str = field(default_factory=lambda: 'certificates.k8s.io/v1beta1')
    kind: str = field(default_factory=lambda: 'PodCertificateRequest')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: PodCertificateRequestSpec = field(default_factory=lambda: PodCertificateRequestSpec())
    status: PodCertificateRequestStatus = field(default_factory=lambda: PodCertificateRequestStatus())


class PodCertificateRequestList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('certificates.k8s.io', 'v1beta1', 'PodCertificateRequestList')
    api_version: str = field(default_factory=lambda: 'certificates.k8s.io/v1beta1')
    items: tuple[PodCertificateRequest, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'PodCertificateRequestList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class PodCertificateRequestSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('nodeName', 'nodeUID', 'podName', 'podUID', 'serviceAccountName', 'serviceAccountUID', 'signerName', 'stubPKCS10Request')
    max_expiration_seconds: Annotated[int, INT32] | None = None
    node_name: str = field(default_factory=str)
    node_uid: str = field(default_factory=str, name='nodeUID')
    pkix_public_key: Annotated[str, BYTES] = field(default_factory=str)
    pod_name: str = field(default_factory=str)
    pod_uid: str = field(default_factory=str, name='podUID')
    proof_of_possession: Annotated[str, BYTES] = field(default_factory=str)
    service_account_name: str = field(default_factory=str)
    service_account_uid: str = field(default_factory=str, name='serviceAccountUID')
    signer_name: str = field(default_factory=str)
    stub_pkcs10_request: Annotated[str, BYTES] = field(default_factory=str, name='stubPKCS10Request')
    unverified_user_annotations: dict[str, str] = field(default_factory=dict)


class PodCertificateRequestStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    begin_refresh_at: datetime | None = None
    certificate_chain: str = ''
    conditions: Annotated[tuple[Condition, ...], MergeKey('type'), ListMap('type')] = ()
    not_after: datetime | None = None
    not_before: datetime | None = None

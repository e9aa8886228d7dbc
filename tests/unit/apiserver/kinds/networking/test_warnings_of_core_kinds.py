"""What the writers of Services, volumes, accounts and their kin are warned of."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import NameOID

from podling.api.core_v1 import (
    Endpoints,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Secret,
    Service,
    ServiceAccount,
)
from podling.api.discovery_v1 import EndpointSlice
from podling.api.networking_v1 import Ingress, NetworkPolicy
from podling.api.node_v1 import RuntimeClass
from podling.api.storage_v1 import CSIStorageCapacity, StorageClass
from podling.apiserver.kinds.common.address_warnings import cidr_warnings, ip_warnings
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.networking.service_warnings import service_warnings
from podling.machinery.fields import Path
from tests.support.manifests import NOW, created, obj, rules

ROW = tuple[type[Any], str, list[str]]
LATER = "will be considered invalid in a future Kubernetes release: use"
OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
ZONE = "failure-domain.beta.kubernetes.io/zone"
USE_ZONE = 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'


def warnings_of(thing: Any, old: Any = None) -> list[str]:
    return rules(type(thing)).warnings(thing, old, Context(NOW))


SERVICES: list[tuple[str, list[str]]] = [
    ("clusterIP: 10.96.0.7", []),
    (
        "externalIPs: [192.0.2.1]",
        ["spec.externalIPs is deprecated and may no longer be implemented in some clusters"],
    ),
    (
        "clusterIP: None, externalIPs: [192.0.2.1], loadBalancerIP: 192.0.2.2, sessionAffinity: ClientIP",
        [
            "spec.loadBalancerIP is ignored for headless services",
            "spec.externalIPs is ignored for headless services",
            "spec.SessionAffinity is ignored for headless services",
        ],
    ),
    (
        "type: ExternalName, externalName: a.example.com, externalIPs: [192.0.2.1]",
        ['spec.externalIPs is ignored when spec.type is "ExternalName"'],
    ),
    ("externalName: a.example.com", ['spec.externalName is ignored when spec.type is not "ExternalName"']),
    (
        "trafficDistribution: PreferClose",
        ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'],
    ),
    ("trafficDistribution: PreferSameZone", []),
    (
        "type: LoadBalancer, loadBalancerIP: 192.0.2.02, loadBalancerSourceRanges: ['2001:DB8::/32']",
        [
            f'spec.loadBalancerIP: non-standard IP address "192.0.2.02" {LATER} "192.0.2.2"',
            'spec.loadBalancerSourceRanges[0]: IPv6 CIDR value "2001:DB8::/32" should be in RFC 5952 '
            'canonical format ("2001:db8::/32")',
        ],
    ),
    (
        "clusterIP: '2001:db8:0::7', ipFamilies: [IPv6]",
        [
            'spec.clusterIPs[0]: IPv6 address "2001:db8:0::7" should be in RFC 5952 canonical format '
            '("2001:db8::7")'
        ],
    ),
]


@pytest.mark.parametrize(("text", "expected"), SERVICES)
def test_services(text: str, expected: list[str]) -> None:
    service = created(obj(Service, f"spec: {{ports: [{{port: 80}}], {text}}}"))
    assert list(service_warnings(service)) == expected


@pytest.mark.parametrize(
    ("before", "after", "warned"),
    [
        (None, "clusterIP: 10.96.0.7", "ClusterIP"),
        (None, "type: NodePort", "NodePort"),
        (None, "type: LoadBalancer", "LoadBalancer"),
        (None, "clusterIP: None", ""),
        (None, "type: ExternalName, externalName: a.example.com", ""),
        ("clusterIP: 10.96.0.7", "type: NodePort", ""),
        ("type: ExternalName, externalName: a.example.com", "type: ClusterIP", "ClusterIP"),
    ],
)
def test_service_that_becomes_forwarded_warns_that_nothing_forwards(
    before: str | None, after: str, warned: str
) -> None:
    old, new = (
        text and created(obj(Service, f"spec: {{ports: [{{port: 80}}], {text}}}")) for text in (before, after)
    )
    expected = [
        f"spec.type: {warned}: this cluster has no service proxy yet, so nothing forwards connections to the "
        "service; use the addresses of its pods"
    ]
    assert warnings_of(new, old) == (expected if warned else [])


def test_an_annotation_of_services_that_has_a_newer_name() -> None:
    text = "metadata: {annotations: {service.kubernetes.io/topology-aware-hints: Auto}}"
    assert list(service_warnings(created(obj(Service, text)))) == [
        "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use "
        "service.kubernetes.io/topology-mode instead"
    ]


def test_the_addresses_of_a_load_balancer() -> None:
    text = "status: {loadBalancer: {ingress: [{hostname: a}, {ip: 010.0.0.1}]}}"
    expected = [f'status.loadBalancer.ingress[1].ip: non-standard IP address "010.0.0.1" {LATER} "10.0.0.1"']
    for kind in (Service, Ingress):
        assert rules(kind).status_warnings(obj(kind, text)) == expected


TERM = f"{{matchExpressions: [{{key: {ZONE}, operator: Exists}}]}}"
ROWS: list[ROW] = [
    (PersistentVolume, "spec: {persistentVolumeReclaimPolicy: Retain, hostPath: {path: /x}}", []),
    (
        PersistentVolume,
        f"{{metadata: {{annotations: {{{OLD_CLASS}: x}}}}, spec: {{persistentVolumeReclaimPolicy: Recycle, "
        f"nodeAffinity: {{required: {{nodeSelectorTerms: [{TERM}]}}}}, storageos: {{}}}}}}",
        [
            f'metadata.annotations[{OLD_CLASS}]: deprecated since v1.8; use "storageClassName" attribute '
            "instead",
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the "
            "recommended approach is to use dynamic provisioning.",
            "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: "
            f"{ZONE} is {USE_ZONE}",
            "spec.storageOS: deprecated in v1.22, non-functional in v1.25+",
        ],
    ),
    (PersistentVolumeClaim, "spec: {resources: {requests: {storage: 1Gi}}}", []),
    (
        PersistentVolumeClaim,
        f"{{metadata: {{annotations: {{{OLD_CLASS}: x}}}}, "
        "spec: {resources: {requests: {storage: 100m}, limits: {storage: 1500m}}}}",
        [
            f'metadata.annotations[{OLD_CLASS}]: deprecated since v1.8; use "storageClassName" attribute '
            "instead",
            'spec.resources.requests[storage]: fractional byte value "100m" is invalid, must be an integer',
            'spec.resources.limits[storage]: fractional byte value "1500m" is invalid, must be an integer',
        ],
    ),
    (
        StorageClass,
        f"allowedTopologies: [{{matchLabelExpressions: [{{key: a}}, {{key: {ZONE}}}]}}]",
        [f"allowedTopologies[0].matchLabelExpressions[1].key: {USE_ZONE}"],
    ),
    (
        CSIStorageCapacity,
        f"nodeTopology: {{matchLabels: {{{ZONE}: a}}, "
        f"matchExpressions: [{{key: {ZONE}, operator: Exists}}]}}",
        [
            f"nodeTopology.matchExpressions[0].key: {ZONE} is {USE_ZONE}",
            f"nodeTopology.matchLabels.{ZONE}: {USE_ZONE}",
        ],
    ),
    (
        RuntimeClass,
        "{handler: x, scheduling: {nodeSelector: {beta.kubernetes.io/os: linux}}}",
        ['scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/os" instead'],
    ),
    (RuntimeClass, "handler: x", []),
    (
        Endpoints,
        "subsets: [{addresses: [{ip: 010.0.0.1}], notReadyAddresses: [{ip: 10.0.0.02}]}]",
        [
            f'subsets[0].addresses[0].ip: non-standard IP address "010.0.0.1" {LATER} "10.0.0.1"',
            f'subsets[0].notReadyAddresses[0].ip: non-standard IP address "10.0.0.02" {LATER} "10.0.0.2"',
        ],
    ),
    (
        Endpoints,
        "{metadata: {labels: {endpoints.kubernetes.io/managed-by: endpoint-controller}}, "
        "subsets: [{addresses: [{ip: 010.0.0.1}]}]}",
        [],
    ),
    (
        EndpointSlice,
        "{addressType: IPv4, endpoints: [{addresses: [10.0.0.1, 010.0.0.1]}]}",
        [f'endpoints[0].addresses[1]: non-standard IP address "010.0.0.1" {LATER} "10.0.0.1"'],
    ),
    (
        EndpointSlice,
        "{addressType: FQDN, endpoints: [{addresses: [a.example.com]}]}",
        ["spec.addressType: FQDN endpoints are deprecated"],
    ),
    (
        NetworkPolicy,
        "spec: {ingress: [{from: [{ipBlock: {cidr: '2001:DB8::/32', except: ['2001:DB8::/64']}}]}]}",
        [
            f'spec.ingress[0].from[0].ipBlock.{field}: IPv6 CIDR value "{given}" should be in RFC 5952 '
            f'canonical format ("{given.lower()}")'
            for field, given in (("cidr", "2001:DB8::/32"), ("except[0]", "2001:DB8::/64"))
        ],
    ),
    (
        Ingress,
        "metadata: {annotations: {kubernetes.io/ingress.class: nginx}}",
        [
            'annotation "kubernetes.io/ingress.class" is deprecated, please use '
            "'spec.ingressClassName' instead"
        ],
    ),
    (
        Ingress,
        "{metadata: {annotations: {kubernetes.io/ingress.class: nginx}}, spec: {ingressClassName: nginx}}",
        [],
    ),
    (
        Node,
        "spec: {externalID: x, configSource: {configMap: {}}, podCIDRs: ['2001:DB8::/64']}",
        [
            "spec.configSource: the feature is removed",
            "spec.externalID: this field is deprecated, and is unused by Kubernetes",
            'spec.podCIDRs[0]: IPv6 CIDR value "2001:DB8::/64" should be in RFC 5952 canonical format '
            '("2001:db8::/64")',
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "expected"), ROWS)
def test_kinds(kind: type[Any], text: str, expected: list[str]) -> None:
    assert warnings_of(created(obj(kind, text))) == expected


def test_accounts_whose_pods_may_use_their_own_secrets_only() -> None:
    text = "metadata: {annotations: {kubernetes.io/enforce-mountable-secrets: 'true'}}"
    account = obj(ServiceAccount, text)
    expected = [
        "metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer "
        "separate namespaces to isolate access to mounted secrets"
    ]
    assert warnings_of(account) == warnings_of(account, obj(ServiceAccount, "")) == expected
    assert warnings_of(account, account) == []


BLOCKS: list[tuple[str, list[str]]] = [
    ("192.12.2.0/24", []),
    (
        "192.012.2.0/24",
        [f'f: non-standard CIDR value "192.012.2.0/24" {LATER} "192.12.2.0/24"'],
    ),
    ("192.12.2.0/024", [f'f: non-standard CIDR value "192.12.2.0/024" {LATER} "192.12.2.0/24"']),
    (
        "::ffff:192.12.2.0/120",
        [f'f: non-standard CIDR value "::ffff:192.12.2.0/120" {LATER} "192.12.2.0/24"'],
    ),
    (
        "192.12.2.8/24",
        [
            'f: CIDR value "192.12.2.8/24" is ambiguous in this context (should be "192.12.2.0/24" or '
            '"192.12.2.8/32"?)'
        ],
    ),
    ("none", []),
]


@pytest.mark.parametrize(("block", "expected"), BLOCKS)
def test_blocks(block: str, expected: list[str]) -> None:
    assert cidr_warnings(Path("f"), block) == expected


def test_an_address_inside_another() -> None:
    assert ip_warnings(Path("f"), "::ffff:192.12.2.2") == [
        f'f: non-standard IP address "::ffff:192.12.2.2" {LATER} "192.12.2.2"'
    ]


Key = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


def pem(key: Key) -> str:
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()


def certificate(key: Key) -> str:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "web")])
    start = datetime(2026, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, start, start + timedelta(days=1))
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return builder.sign(key, algorithm).public_bytes(serialization.Encoding.PEM).decode()


KEY, OTHER, EDWARDS = (
    ec.generate_private_key(ec.SECP256R1()),
    ec.generate_private_key(ec.SECP256R1()),
    ed25519.Ed25519PrivateKey.generate(),
)
CERTIFICATE, PARAMETERS = (
    certificate(KEY),
    "-----BEGIN EC PARAMETERS-----\nAAAA\n-----END EC PARAMETERS-----\n",
)
GARBAGE = "-----BEGIN {0}-----\nAAAA\n-----END {0}-----\n"
PAIRS: list[tuple[str, str, str]] = [
    (CERTIFICATE, pem(KEY), ""),
    (CERTIFICATE, PARAMETERS + pem(KEY), ""),
    (certificate(EDWARDS), pem(EDWARDS), ""),
    (CERTIFICATE, pem(OTHER), "tls: private key does not match public key"),
    (CERTIFICATE, pem(EDWARDS), "tls: private key type does not match public key type"),
    ("", pem(KEY), "tls: failed to find any PEM data in certificate input"),
    (CERTIFICATE, "x", "tls: failed to find any PEM data in key input"),
    (
        pem(KEY),
        CERTIFICATE,
        "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM "
        "inputs may have been switched",
    ),
    (CERTIFICATE, CERTIFICATE, "tls: found a certificate rather than a key in the PEM for the private key"),
    (
        PARAMETERS + PARAMETERS,
        pem(KEY),
        'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the '
        "following types: [EC PARAMETERS EC PARAMETERS]",
    ),
    (
        CERTIFICATE,
        PARAMETERS,
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM '
        "blocks of the following types: [EC PARAMETERS]",
    ),
    (GARBAGE.format("CERTIFICATE"), pem(KEY), "x509: malformed certificate"),
    (CERTIFICATE, GARBAGE.format("PRIVATE KEY"), "tls: failed to parse private key"),
]


@pytest.mark.parametrize(("cert", "key", "expected"), PAIRS)
def test_pairs_of_certificate_and_key(cert: str, key: str, expected: str) -> None:
    data = {"tls.crt": cert, "tls.key": key}
    encoded = {name: base64.b64encode(text.encode()).decode() for name, text in data.items()}
    secret = obj(Secret, yaml.safe_dump({"type": "kubernetes.io/tls", "data": encoded}))
    assert warnings_of(secret) == ([expected] if expected else [])
    assert warnings_of(obj(Secret, yaml.safe_dump({"data": encoded}))) == []

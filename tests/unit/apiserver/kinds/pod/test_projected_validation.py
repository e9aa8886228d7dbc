"""Tests of the validation of projected volumes."""

from __future__ import annotations

import pytest

from tests.support.causes import SUBDOMAIN_TEXT, Cause, invalid, required, unsupported
from tests.support.manifests import creation_causes, pod

BUNDLE = "spec.volumes[0].projected.sources[0].clusterTrustBundle"
QUALIFIED = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
CERTIFICATE = "spec.volumes[0].projected.sources[0].podCertificate"
KEY_TYPES = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("clusterTrustBundle: {path: ca.pem, signerName: example.com/ca}", []),
        ("clusterTrustBundle: {path: ca.pem, name: 'example.com:ca:main'}", []),
        (
            "clusterTrustBundle: {path: ca.pem}",
            [required(BUNDLE, "either name or signerName must be specified")],
        ),
        (
            "clusterTrustBundle: {path: ca.pem, signerName: ca}",
            [invalid(f"{BUNDLE}.signerName", '"ca"', QUALIFIED)],
        ),
        (
            "clusterTrustBundle: {path: '', name: 'a:b'}",
            [
                invalid(
                    f"{BUNDLE}.name",
                    '"a:b"',
                    "not a valid clustertrustbundlename: "
                    'ClusterTrustBundle without signer name must not have ":" in its name',
                ),
                required(f"{BUNDLE}.path"),
            ],
        ),
        (
            "clusterTrustBundle: {path: ca.pem, name: A}",
            [invalid(f"{BUNDLE}.name", '"A"', f"not a valid clustertrustbundlename: {SUBDOMAIN_TEXT}")],
        ),
        ("podCertificate: {signerName: example.com/ca, keyType: ED25519, keyPath: key.pem}", []),
        (
            "podCertificate: {signerName: kubernetes.io/x, keyType: ED25519, maxExpirationSeconds: 86401, "
            "keyPath: a, certificateChainPath: a, userAnnotations: {a: b}}",
            [
                invalid(
                    f"{CERTIFICATE}.userAnnotations",
                    '"a"',
                    'must be a domain-prefixed key (such as "acme.io/foo")',
                ),
                invalid(
                    f"{CERTIFICATE}.maxExpirationSeconds",
                    "86401",
                    "if provided, maxExpirationSeconds must be <= 86400",
                ),
                invalid("spec.volumes[0].projected", '"a"', "conflicting duplicate paths"),
            ],
        ),
        (
            "podCertificate: {signerName: ca, keyType: RSA}",
            [
                invalid(f"{CERTIFICATE}.signerName", '"ca"', QUALIFIED),
                unsupported(f"{CERTIFICATE}.keyType", "RSA", *KEY_TYPES),
                required(
                    CERTIFICATE,
                    "specify at least one of credentialBundlePath, keyPath, and certificateChainPath",
                ),
            ],
        ),
    ],
)  # fmt: skip
def test_invalid_projected_source_is_refused_with_causes(text: str, expected: list[Cause]) -> None:
    found = creation_causes(pod(f"spec: {{volumes: [{{name: v, projected: {{sources: [{{{text}}}]}}}}]}}"))
    assert found == expected

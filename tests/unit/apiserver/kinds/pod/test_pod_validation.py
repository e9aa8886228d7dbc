"""Tests of the validation of pods."""

from __future__ import annotations

import pytest

from tests.support.causes import LABEL_TEXT, SUBDOMAIN_TEXT, Cause, Row, invalid, required, unsupported
from tests.support.manifests import creation_causes, pod

NAMES_AND_DNS: list[Row] = [
    ("spec: {hostname: Web}", [invalid("spec.hostname", '"Web"', LABEL_TEXT)]),
    ("spec: {runtimeClassName: ''}", [invalid("spec.runtimeClassName", '""', SUBDOMAIN_TEXT)]),
    (
        "spec: {priorityClassName: High_1}",
        [invalid("spec.priorityClassName", '"High_1"', SUBDOMAIN_TEXT)],
    ),
    (
        "spec: {dnsPolicy: None}",
        [required("spec.dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None")],
    ),
    (
        "spec: {dnsPolicy: Cluster}",
        [
            unsupported(
                "spec.dnsPolicy", "Cluster", "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"
            )
        ],
    ),
    (
        "spec: {dnsConfig: {nameservers: [1.1.1.1, 8.8.8.8, 9.9.9.9, x]}}",
        [
            invalid(
                "spec.dnsConfig.nameservers",
                '["1.1.1.1","8.8.8.8","9.9.9.9","x"]',
                "must not have more than 3 nameservers",
            ),
            invalid(
                "spec.dnsConfig.nameservers[3]",
                '"x"',
                "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            ),
        ],
    ),
    (
        "spec: {hostAliases: [{ip: nowhere, hostnames: [a_b]}]}",
        [
            invalid(
                "spec.hostAliases[0].ip",
                '"nowhere"',
                "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            ),
            invalid("spec.hostAliases[0].hostnames[0]", '"a_b"', SUBDOMAIN_TEXT),
        ],
    ),
    (
        "metadata: {annotations: {controller.kubernetes.io/pod-deletion-cost: cheap}}",
        [
            invalid(
                "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]",
                '"cheap"',
                "must be a 32bit integer",
            )
        ],
    ),
]


@pytest.mark.parametrize(("manifest", "expected"), NAMES_AND_DNS)
def test_invalid_pod_is_refused_with_causes(manifest: str, expected: list[Cause]) -> None:
    assert creation_causes(pod(manifest)) == expected

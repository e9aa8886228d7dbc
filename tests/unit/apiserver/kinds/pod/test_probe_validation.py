"""Tests of the validation of probes and lifecycle hooks."""

from __future__ import annotations

import pytest

from tests.support.causes import Cause, Row, forbidden, invalid, required
from tests.support.manifests import container, creation_causes, pod

C0 = "spec.containers[0]"
PROBES: list[Row] = [
    (
        container("livenessProbe: {periodSeconds: 5}"),
        [required(f"{C0}.livenessProbe", "must specify a handler type")],
    ),
    (
        container("livenessProbe: {exec: {command: [x]}, tcpSocket: {port: 80}}"),
        [forbidden(f"{C0}.livenessProbe.tcpSocket", "may not specify more than 1 handler type")],
    ),
    (
        container("livenessProbe: {exec: {command: [x]}, successThreshold: 2}"),
        [invalid(f"{C0}.livenessProbe.successThreshold", "2", "must be 1")],
    ),
    (
        container("readinessProbe: {exec: {command: [x]}, terminationGracePeriodSeconds: 5}"),
        [
            invalid(
                f"{C0}.readinessProbe.terminationGracePeriodSeconds",
                "5",
                "must not be set for readinessProbes",
            )
        ],
    ),
    (
        container("startupProbe: {httpGet: {port: 0}, failureThreshold: -1}"),
        [
            invalid(f"{C0}.startupProbe.httpGet.port", "0", "must be between 1 and 65535, inclusive"),
            invalid(f"{C0}.startupProbe.failureThreshold", "-1", "must be greater than or equal to 0"),
        ],
    ),
    (
        container("lifecycle: {preStop: {sleep: {seconds: 31}}}"),
        [
            invalid(
                f"{C0}.lifecycle.preStop.sleep",
                "31",
                "must be non-negative and less than terminationGracePeriodSeconds (30)",
            )
        ],
    ),
    (
        container("lifecycle: {postStart: {exec: {}}}"),
        [required(f"{C0}.lifecycle.postStart.exec.command")],
    ),
    (
        container("lifecycle: {stopSignal: SIGUSR1}"),
        [forbidden(f"{C0}.lifecycle.stopSignal", "may not be set for containers with empty `spec.os.name`")],
    ),
]


@pytest.mark.parametrize(("manifest", "expected"), PROBES)
def test_invalid_probe_or_hook_is_refused_with_causes(manifest: str, expected: list[Cause]) -> None:
    assert creation_causes(pod(manifest)) == expected

"""Rules of the signers for certificate requests."""

from __future__ import annotations

import pytest

from podling.controllers.auth.certificate_rules import refusal
from podling.machinery.certificate_requests import wanted
from tests.support.certificate_requests import (
    CLIENT,
    KUBELET_CLIENT,
    KUBELET_SERVING,
    request_pem,
)

NODE = ("system:node:n1", ["system:nodes"])


CLIENT_USAGES = ["digital signature", "client auth"]


SERVING_USAGES = ["digital signature", "server auth"]


CLIENT_LIST = "[client auth digital signature key encipherment]"


SERVER_LIST = "[digital signature key encipherment server auth]"


N, G = NODE


@pytest.mark.parametrize(
    ("signer", "user", "groups", "names", "usages", "why"),
    [
        (CLIENT, "x", [], [], ["client auth"], ""),
        (CLIENT, "x", [], ["dns:a.example"], [*CLIENT_USAGES, "key encipherment"], ""),
        (
            CLIENT,
            "x",
            [],
            [],
            ["digital signature"],
            "missing required usage for client certificate: client auth",
        ),
        (KUBELET_CLIENT, N, G, [], CLIENT_USAGES, ""),
        (KUBELET_CLIENT, N, G, [], [*CLIENT_USAGES, "key encipherment"], ""),
        (KUBELET_CLIENT, N, [*G, "x"], [], CLIENT_USAGES, "subject organization is not system:nodes"),
        (KUBELET_CLIENT, N, G, ["dns:a.example"], CLIENT_USAGES, "DNS subjectAltNames are not allowed"),
        (KUBELET_CLIENT, N, G, ["email:a@b.example"], CLIENT_USAGES, "Email subjectAltNames are not allowed"),
        (KUBELET_CLIENT, N, G, ["ip:10.0.0.1"], CLIENT_USAGES, "IP subjectAltNames are not allowed"),
        (KUBELET_CLIENT, N, G, ["uri:spiffe://a"], CLIENT_USAGES, "URI subjectAltNames are not allowed"),
        (
            KUBELET_CLIENT,
            "n1",
            G,
            [],
            CLIENT_USAGES,
            "subject common name does not begin with system:node:",
        ),
        (KUBELET_CLIENT, N, G, [], ["client auth"], f"usages did not match {CLIENT_LIST}"),
        (KUBELET_SERVING, N, G, ["dns:n1", "ip:10.0.0.1"], SERVING_USAGES, ""),
        (KUBELET_SERVING, N, [], ["dns:n1"], SERVING_USAGES, "subject organization is not system:nodes"),
        (KUBELET_SERVING, N, G, [], SERVING_USAGES, "DNS or IP subjectAltName is required"),
        (
            KUBELET_SERVING,
            N,
            G,
            ["dns:n1", "email:a@b.example"],
            SERVING_USAGES,
            "Email subjectAltNames are not allowed",
        ),
        (
            KUBELET_SERVING,
            N,
            G,
            ["dns:n1", "uri:spiffe://a"],
            SERVING_USAGES,
            "URI subjectAltNames are not allowed",
        ),
        (KUBELET_SERVING, N, G, ["dns:n1"], CLIENT_USAGES, f"usages did not match {SERVER_LIST}"),
        (
            KUBELET_SERVING,
            "n1",
            G,
            ["dns:n1"],
            SERVING_USAGES,
            "subject common name does not begin with system:node:",
        ),
        ("kubernetes.io/legacy-unknown", "x", [], ["dns:n1"], ["code signing"], ""),
    ],
)
def test_rules_of_signers(
    signer: str, user: str, groups: list[str], names: list[str], usages: list[str], why: str
) -> None:
    assert refusal(signer, wanted(request_pem(user, groups, names)), usages) == why

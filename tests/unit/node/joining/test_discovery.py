"""Discovery of a cluster: accepted information, and the words of refusals."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import ConfigMap
from podling.machinery import cluster_info
from podling.machinery.tokens.bootstrap_tokens import BootstrapToken
from podling.node.joining.discovery import checked_url, signed_text
from podling.node.joining.refusals import JoinRefused

TOKEN = BootstrapToken("abcdef", "0123456789abcdef")
OTHER = BootstrapToken("abcdef", "fedcba9876543210")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://192.0.2.1:6443", "https://192.0.2.1:6443"),
        ("https://192.0.2.1:6443/", "https://192.0.2.1:6443"),
        ("192.0.2.1:6443", "https://192.0.2.1:6443"),
        ("https://[2001:db8::1]:6443", "https://[2001:db8::1]:6443"),
        ("https://cluster.example.org:6443", "https://cluster.example.org:6443"),
    ],
)
def test_addresses_of_servers(text: str, expected: str) -> None:
    assert checked_url(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "192.0.2.1", "http://192.0.2.1:80", "https://192.0.2.1", "https://:6443", "https://a:b",
     "https://192.0.2.1:99999", "https://192.0.2.1:6443/api", "https://192.0.2.1:6443?a", "https://[::1:6443"],
)  # fmt: skip
def test_other_texts_are_no_addresses(text: str) -> None:
    with pytest.raises(JoinRefused, match="is no address of an API server"):
        checked_url(text)


def test_text_with_the_tokens_signature_is_accepted() -> None:
    data = {"kubeconfig": "text", "jws-kubeconfig-abcdef": cluster_info.signature("text", TOKEN)}
    assert signed_text(ConfigMap(data=data), TOKEN) == "text"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, "names no server"),
        ({"kubeconfig": "text"}, "knows no token abcdef .* expired or was deleted; make a new one"),
        (
            {"kubeconfig": "text", "jws-kubeconfig-abcdef": cluster_info.signature("text", OTHER)},
            "does not fit the secret of token abcdef",
        ),
        (
            {"kubeconfig": "other", "jws-kubeconfig-abcdef": cluster_info.signature("text", TOKEN)},
            "does not fit the secret of token abcdef",
        ),
    ],
)
def test_other_texts_are_refused(data: dict[str, str], words: str) -> None:
    with pytest.raises(JoinRefused, match=words):
        signed_text(ConfigMap(data=data), TOKEN)

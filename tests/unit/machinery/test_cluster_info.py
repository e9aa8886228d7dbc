"""The public information about a cluster: signatures, and the hash of the authority."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import warnings
from pathlib import Path

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.apiserver.auth.pki import Pki
from podling.machinery import cluster_info
from podling.machinery.cluster_info import Networking, UnusableInformation, configuration, networking
from podling.machinery.node_masks import NodeMasks
from podling.machinery.tokens.bootstrap_tokens import BootstrapToken

TOKEN = BootstrapToken("abcdef", "0123456789abcdef")


def test_signature_is_one_of_jws_without_its_payload() -> None:
    text = "apiVersion: v1\n"
    header, payload, signed = cluster_info.signature(text, TOKEN).split(".")
    assert payload == ""
    whole = f"{header}.{base64.urlsafe_b64encode(text.encode()).rstrip(b'=').decode()}.{signed}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the secret of a token is short for a key
        assert jwt.api_jws.decode(whole, TOKEN.secret, algorithms=["HS256"]) == text.encode()
    assert jwt.get_unverified_header(whole) == {"alg": "HS256", "kid": "abcdef"}


@pytest.mark.parametrize(
    ("text", "secret", "expected"),
    [
        (
            "Hello from the other side. I must have called a thousand times.",
            "my voice is my passcode",
            "VShe2taLd-YTrmWuRkcL_8QTNDHYxQIEBsAYYiIj1_8",
        ),
        ("", "my voice is my passcode", "7Ui1ALizW4jXphVUB7xUqC9vLYLL9RZeOFfVLoB7Tgk"),
    ],
)
def test_signatures_are_those_of_kubernetes(text: str, secret: str, expected: str) -> None:
    """The figures are those of ``jws_test.go``."""
    token, expected = (
        BootstrapToken("joshua", secret),
        f"eyJhbGciOiJIUzI1NiIsImtpZCI6Impvc2h1YSJ9..{expected}",
    )
    assert cluster_info.signature(text, token) == expected
    assert cluster_info.is_signed(text, expected, token)


@given(st.text(), st.text())
def test_only_the_signed_text_is_accepted(text: str, other: str) -> None:
    found = cluster_info.signature(text, TOKEN)
    assert cluster_info.is_signed(text, found, TOKEN)
    assert cluster_info.is_signed(other, found, TOKEN) == (other == text)


@pytest.mark.parametrize(
    "found",
    [
        "",
        "..",
        "a.b.c",
        cluster_info.signature("text", BootstrapToken("abcdef", "0123456789abcdeg")),
        cluster_info.signature("text", TOKEN).replace("..", ".dGV4dA."),
        "eyJhbGciOiJub25lIn0..",
        "é..é",
    ],
)
def test_malformed_or_wrong_signatures_are_refused(found: str) -> None:
    assert not cluster_info.is_signed("text", found, TOKEN)


@given(st.text(max_size=200))
def test_no_text_is_a_signature_by_luck(found: str) -> None:
    assert not cluster_info.is_signed("text", found, TOKEN)


def test_content_is_read_again() -> None:
    text = cluster_info.content("https://192.0.2.1:6443", b"a certificate")
    assert cluster_info.server_and_authority(text) == ("https://192.0.2.1:6443", b"a certificate")


@pytest.mark.parametrize(
    "text",
    ["", "[]", "clusters: []", "clusters: [{cluster: {server: a}}]", "{",
     "clusters: [{cluster: {server: a, certificate-authority-data: '!'}}]"],
)  # fmt: skip
def test_content_without_a_server_is_refused(text: str) -> None:
    with pytest.raises(UnusableInformation):
        cluster_info.server_and_authority(text)


def test_hash_is_the_one_of_openssl(tmp_path: Path) -> None:
    pki = Pki(tmp_path)
    found = cluster_info.key_hash(pki.ca_pem)
    public = subprocess.run(
        ["openssl", "x509", "-pubkey", "-noout", "-in", pki.ca.certificate], check=True, capture_output=True
    ).stdout
    der = subprocess.run(
        ["openssl", "pkey", "-pubin", "-outform", "der"], input=public, check=True, capture_output=True
    ).stdout
    assert found == f"sha256:{hashlib.sha256(der).hexdigest()}"
    assert cluster_info.is_hash(found)


@pytest.mark.parametrize("text", ["", "sha256:", f"sha256:{'0' * 63}", f"sha1:{'0' * 64}", "0" * 64])
def test_other_texts_are_no_hashes(text: str) -> None:
    assert not cluster_info.is_hash(text)


@pytest.mark.parametrize(
    ("text", "network"),
    [
        (
            configuration("https://10.0.0.1:6443", "10.88.0.0/16", "10.96.0.0/12", "routes", NodeMasks()),
            ("10.88.0.0/16", "routes"),
        ),
        ("networking: {podSubnet: 10.88.0.0/16, podNetworkMode: pigeons}", ("10.88.0.0/16", "")),
        ("networking: {podSubnet: [1]}", ("", "")),
        ("networking: none", ("", "")),
        ("{", ("", "")),
        ("", ("", "")),
    ],
)
def test_network_in_the_configuration_of_a_cluster(text: str, network: tuple[str, str]) -> None:
    found = networking(text)
    assert (found.pods, found.mode) == network


@pytest.mark.parametrize("masks", [NodeMasks(), NodeMasks(single=26), NodeMasks(ipv4=25, ipv6=80)])
def test_sizes_of_blocks_are_in_the_configuration_of_a_cluster(masks: NodeMasks) -> None:
    text = configuration("https://10.0.0.1:6443", "10.88.0.0/16", "10.96.0.0/12", "routes", masks)
    assert networking(text).masks == masks


@pytest.mark.parametrize(
    "options",
    ["", "[]", "{}", "[1]", "[{name: node-cidr-mask-size, value: big}]", "[{name: other, value: 9}]"],
)
def test_unreadable_sizes_of_blocks_are_those_of_no_option(options: str) -> None:
    text = f"networking: {{podSubnet: 10.88.0.0/16}}\ncontrollerManager: {{extraArgs: {options}}}"
    assert networking(text) == Networking("10.88.0.0/16")

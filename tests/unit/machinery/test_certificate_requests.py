"""Names in certificate signing requests, and texts that are none."""

from __future__ import annotations

import base64

import pytest

from podling.machinery.certificate_requests import NOT_A_REQUEST, Wanted, pem_of, request_block, wanted
from tests.support.certificate_requests import key_pem, request_pem

REQUEST = request_pem("ann", ["dev", "ops"])


@pytest.mark.parametrize(
    ("pem", "names"),
    [
        (REQUEST, Wanted("ann", ("dev", "ops"))),
        (request_pem("ann"), Wanted("ann")),
        (
            request_pem(
                "system:node:n",
                ["system:nodes"],
                [
                    "dns:n.example",
                    "dns:m",
                    "ip:192.0.2.1",
                    "ip:::1",
                    "email:a@example.com",
                    "uri:spiffe://a/b",
                ],
            ),
            Wanted(
                "system:node:n",
                ("system:nodes",),
                ("n.example", "m"),
                ("a@example.com",),
                ("192.0.2.1", "::1"),
                ("spiffe://a/b",),
            ),
        ),
        (b"text before\n" + REQUEST + key_pem(), Wanted("ann", ("dev", "ops"))),
    ],
)
def test_names_are_read_from_subject_and_extension(pem: bytes, names: Wanted) -> None:
    assert wanted(pem) == names


@pytest.mark.parametrize("pem", [b"", b"text", key_pem(), key_pem() + REQUEST, REQUEST[:-10]])
def test_other_block_than_a_request_is_refused(pem: bytes) -> None:
    with pytest.raises(ValueError, match=NOT_A_REQUEST):
        request_block(pem)


def test_damaged_request_is_refused() -> None:
    lines = REQUEST.splitlines()
    with pytest.raises(ValueError, match=r".+"):
        wanted(b"\n".join([lines[0], *lines[2:], b""]))


@pytest.mark.parametrize(
    ("encoded", "pem"),
    [(None, b""), ("", b""), ("%", b""), ("YQ", b""), (base64.b64encode(REQUEST).decode(), REQUEST)],
)
def test_field_is_decoded_or_empty(encoded: str | None, pem: bytes) -> None:
    assert pem_of(encoded) == pem

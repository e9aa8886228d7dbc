"""Keys, requests and the files of certificates."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling import clock
from podling.apiserver.auth.pki import Pki
from podling.apiserver.auth.signing import RequestSigner
from podling.machinery.certificate_requests import Wanted, wanted
from podling.node.joining.key_pairs import PairFile, key_digest, new_key, request_pem


def test_request_for_a_client() -> None:
    found = wanted(request_pem(new_key(), "n1"))
    assert found == Wanted("system:node:n1", ("system:nodes",))


def test_request_for_a_server() -> None:
    found = wanted(request_pem(new_key(), "n1", ("192.0.2.1", "2001:db8::1")))
    assert found == Wanted(
        "system:node:n1", ("system:nodes",), ("n1",), addresses=("192.0.2.1", "2001:db8::1")
    )


def test_digest_names_the_key() -> None:
    key, other = new_key(), new_key()
    assert key_digest(key) == key_digest(key) != key_digest(other)


async def test_file_keeps_certificate_and_key(tmp_path: Path) -> None:
    signer, file, key = RequestSigner(Pki(tmp_path / "pki")), PairFile(tmp_path / "pair.pem"), new_key()
    assert file.period() is None
    request = request_pem(key, "n1", ("192.0.2.1",))
    file.write(signer.sign(request, ("digital signature", "server auth"), 3600), key)
    found = file.period()
    assert found is not None
    assert (found.user, found.addresses) == ("system:node:n1", ("192.0.2.1",))
    assert found.begins < clock.now() < found.ends
    assert file.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damage", ["", "nothing", "other key", "cut"])
async def test_damaged_files_hold_nothing(tmp_path: Path, damage: str) -> None:
    signer, file, key = RequestSigner(Pki(tmp_path / "pki")), PairFile(tmp_path / "pair.pem"), new_key()
    certificate = signer.sign(request_pem(key, "n1"), ("digital signature", "client auth"), None)
    file.write(certificate, new_key() if damage == "other key" else key)
    if damage in ("", "nothing"):
        file.path.write_text(damage)
    if damage == "cut":
        file.path.write_bytes(file.path.read_bytes()[:-100])
    assert file.period() is None

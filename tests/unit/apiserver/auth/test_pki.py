"""The cluster's certificate authority: issued certificates, file modes, and renewal."""

from __future__ import annotations

import base64
import ssl
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import NameOID

from podling.apiserver.auth.authn import Authenticator
from podling.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from podling.apiserver.auth.pki import Pki, PkiDamaged
from podling.apiserver.bootstrap import Endpoint
from podling.sim.loop import EPOCH, run
from podling.testing import ControlPlane


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    return Pki(tmp_path / "pki")


def certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def names(path: Path) -> set[str]:
    found = certificate(path).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return {str(each.value) for each in found}


def test_files_are_readable_by_their_owner_alone(pki: Pki) -> None:
    pki.admin()
    pki.service_account_key()
    assert {oct(path.stat().st_mode & 0o777) for path in pki.folder.iterdir()} == {"0o600"}
    assert oct(pki.folder.stat().st_mode & 0o777) == "0o700"


def test_certificate_of_a_node_names_user_and_group(pki: Pki) -> None:
    subject = certificate(pki.node("node-1").certificate).subject
    assert [each.value for each in subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == [
        "system:node:node-1"
    ]
    assert [each.value for each in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)] == [
        "system:nodes"
    ]


def test_serving_certificate_has_every_name_and_address(pki: Pki) -> None:
    pair = pki.server("apiserver", ["127.0.0.1", "10.96.0.1", "host.example"])
    assert {"localhost", "kubernetes.default.svc", "127.0.0.1", "10.96.0.1", "host.example"} <= names(
        pair.certificate
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)


def test_valid_certificates_are_used_again(pki: Pki) -> None:
    first = [pki.admin().certificate.read_bytes(), pki.ca_pem, pki.service_account_key()]
    again = Pki(pki.folder)
    assert [again.admin().certificate.read_bytes(), again.ca_pem, again.service_account_key()] == first


def test_a_new_address_needs_a_new_certificate(pki: Pki) -> None:
    before = pki.server("apiserver", ["10.0.0.1"]).certificate.read_bytes()
    assert pki.server("apiserver", ["10.0.0.1"]).certificate.read_bytes() == before
    pair = pki.server("apiserver", ["10.0.0.2"])
    assert "10.0.0.2" in names(pair.certificate)


def test_certificate_without_the_cluster_address_is_renewed_at_the_next_start(pki: Pki) -> None:
    before = pki.server("apiserver", ["10.0.0.1", "127.0.0.1"]).certificate.read_bytes()
    again = Pki(pki.folder)
    pair = again.server("apiserver", ["10.0.0.1", "127.0.0.1", Endpoint().cluster_ip])
    assert pair.certificate.read_bytes() != before
    assert {"10.0.0.1", "127.0.0.1", "10.96.0.1"} <= names(pair.certificate)
    assert again.ca_pem == pki.ca_pem, "clients trust it as before"


def test_a_certificate_is_renewed_before_it_ends(pki: Pki) -> None:
    async def issue() -> bytes:
        return pki.admin().certificate.read_bytes()

    first = run(issue())
    assert run(issue(), start=EPOCH + timedelta(days=300)) == first
    assert run(issue(), start=EPOCH + timedelta(days=340)) != first


def test_a_certificate_of_another_authority_is_replaced(pki: Pki, tmp_path: Path) -> None:
    other = Pki(tmp_path / "other")
    foreign = other.admin()
    pki.ca_pem  # noqa: B018  makes the authority
    (pki.folder / "admin.crt").write_bytes(foreign.certificate.read_bytes())
    (pki.folder / "admin.key").write_bytes(foreign.key.read_bytes())
    assert pki.admin().certificate.read_bytes() != foreign.certificate.read_bytes()


async def test_client_certificate_authenticates_its_user(pki: Pki, cluster: ControlPlane) -> None:
    der = ssl.PEM_cert_to_DER_cert(pki.admin().certificate.read_text())
    user = Authenticator(cluster.server.tokens).user_of(der, "")
    assert (user.name, user.groups) == ("kubernetes-admin", ("system:masters", "system:authenticated"))


def test_kubeconfig_contains_certificates_and_address(pki: Pki, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "admin.conf"
    content = kubeconfig("https://127.0.0.1:6443", pki.ca_pem, pki.admin(), user="me", name="podling")
    write_kubeconfig(path, content)
    assert oct(path.stat().st_mode & 0o777) == "0o600"
    document = yaml.safe_load(path.read_text())
    assert document["current-context"] == "podling"
    cluster = document["clusters"][0]["cluster"]
    assert cluster["server"] == "https://127.0.0.1:6443"
    assert base64.b64decode(cluster["certificate-authority-data"]) == pki.ca_pem
    user = document["users"][0]["user"]
    assert base64.b64decode(user["client-key-data"]) == pki.admin().key.read_bytes()


@pytest.mark.parametrize("lost", ["ca.key", "ca.crt"])
def test_authority_in_use_is_not_replaced_when_half_of_it_is_lost(pki: Pki, lost: str) -> None:
    pki.admin()
    (pki.folder / lost).unlink()
    with pytest.raises(PkiDamaged, match=rf"{lost} is missing; restore it from a backup"):
        Pki(pki.folder).admin()


def test_authority_that_was_never_finished_is_made_again(pki: Pki) -> None:
    """The key is written last: a certificate without it has signed nothing."""
    pki.authority()
    pki.ca.key.unlink()
    Pki(pki.folder).admin()


@pytest.mark.parametrize("name", ["ca.key", "ca.crt"])
def test_damaged_authority_is_named(pki: Pki, name: str) -> None:
    pki.admin()
    (pki.folder / name).write_bytes(b"-----BEGIN nonsense")
    with pytest.raises(PkiDamaged, match=r"the cluster's authority is damaged: .*; restore it from a backup"):
        Pki(pki.folder).admin()


def test_authority_of_another_cluster_is_named(pki: Pki, tmp_path: Path) -> None:
    other = Pki(tmp_path / "other")
    other.authority()
    pki.admin()
    pki.ca.certificate.write_bytes(other.ca.certificate.read_bytes())
    with pytest.raises(PkiDamaged, match="is not the certificate of"):
        Pki(pki.folder).admin()


def test_damaged_key_of_service_accounts_is_named(pki: Pki) -> None:
    pki.service_account_key()
    pki.signing_key.write_bytes(b"")
    with pytest.raises(PkiDamaged, match=r"service-account\.key is not a private key"):
        pki.service_account_key()


@pytest.mark.parametrize("damage", [b"", b"-----BEGIN CERTIFICATE-----\nAAAA"])
@pytest.mark.parametrize("suffix", ["crt", "key"])
def test_damaged_certificate_is_made_again(pki: Pki, suffix: str, damage: bytes) -> None:
    pair = pki.admin()
    (pki.folder / f"admin.{suffix}").write_bytes(damage)
    pki.admin()
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(pair.certificate, pair.key)


def encrypted(path: Path) -> bytes:
    key = serialization.load_pem_private_key(path.read_bytes(), None)
    protection = serialization.BestAvailableEncryption(b"a password")
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, protection)


def test_encrypted_keys_are_replaced_or_named(pki: Pki) -> None:
    pair = pki.admin()
    pair.key.write_bytes(encrypted(pair.key))
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(pair.certificate, pki.admin().key)
    pki.service_account_key()
    pki.signing_key.write_bytes(encrypted(pki.signing_key))
    with pytest.raises(PkiDamaged, match="is not a private key"):
        pki.service_account_key()
    pki.ca.key.write_bytes(encrypted(pki.ca.key))
    with pytest.raises(PkiDamaged, match="the cluster's authority is damaged"):
        Pki(pki.folder).admin()


def test_certificate_without_names_does_not_serve_a_server(pki: Pki) -> None:
    nameless, pair = pki.admin(), pki.server("apiserver", ["127.0.0.1"])
    pair.certificate.write_bytes(nameless.certificate.read_bytes())
    pair.key.write_bytes(nameless.key.read_bytes())
    assert "127.0.0.1" in names(pki.server("apiserver", ["127.0.0.1"]).certificate)


def test_certificate_of_another_key_is_made_again(pki: Pki) -> None:
    pair, other = pki.admin(), pki.node("one")
    pair.key.write_bytes(other.key.read_bytes())
    pki.admin()
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(pair.certificate, pair.key)

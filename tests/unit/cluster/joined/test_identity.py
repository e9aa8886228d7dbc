"""The identity of a joined node on disk."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from podling import clock
from podling.apiserver.auth.pki import Pki
from podling.apiserver.auth.signing import RequestSigner
from podling.cluster.directory import DataDirectory
from podling.cluster.joined.identity import NodeIdentity
from podling.node.joining.key_pairs import new_key, request_pem


@pytest.fixture
async def identity(tmp_path: Path) -> NodeIdentity:
    """The identity of a node, with a certificate for an hour."""
    directory = DataDirectory(tmp_path / "data")
    directory.create()
    pki, found, key = Pki(tmp_path / "authority"), NodeIdentity(directory), new_key()
    signed = RequestSigner(pki).sign(request_pem(key, "n1"), ("digital signature", "client auth"), 3600)
    found.client.write(signed, key)
    found.authority.write_bytes(pki.ca_pem)
    return found


async def test_identity_is_good_until_its_certificate_ends(identity: NodeIdentity) -> None:
    period = identity.client.period()
    assert period is not None
    await clock.sleep((period.ends - clock.now() - timedelta(seconds=1)).total_seconds())
    assert identity.is_good()
    await clock.sleep(1)
    assert not identity.is_good()


async def test_identity_needs_every_file(identity: NodeIdentity) -> None:
    content = identity.authority.read_bytes()
    identity.authority.unlink()
    assert not identity.is_good()
    identity.authority.write_bytes(content)
    identity.client.path.unlink()
    assert not identity.is_good()


async def test_forgotten_identity_leaves_no_key(identity: NodeIdentity) -> None:
    identity.client_context()
    identity.forget()
    assert os.listdir(identity.authority.parent) == []

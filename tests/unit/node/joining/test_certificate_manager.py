"""Certificates of a node over many renewals, on virtual time, with the cluster's own approvers and signer."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling import clock
from podling.api.certificates_v1 import CertificateSigningRequest
from podling.api.core_v1 import Node
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.auth import joining
from podling.apiserver.auth.pki import Pki
from podling.apiserver.auth.signing import RequestSigner
from podling.client.requests import User
from podling.controllers.auth.certificate_approving import CertificateApprovingController
from podling.controllers.auth.certificate_cleaner import CertificateCleanerController
from podling.controllers.auth.certificate_signing import CertificateSigningController
from podling.controllers.auth.serving_certificate_approving import ServingCertificateApprovingController
from podling.node.joining.certificate_manager import CertificateManager, renewal, retry_seconds
from podling.node.joining.key_pairs import PairFile, Period
from podling.testing import ControlPlane
from tests.support.control_loops import running

NODE = User("system:node:n1", ("system:nodes", "system:authenticated"))
HOUR = 3600.0


class HourSigner(RequestSigner):
    """Signs for an hour, so that many renewals pass quickly."""

    def sign(self, request: bytes, usages: Sequence[str], seconds: int | None) -> bytes:
        return super().sign(request, usages, int(HOUR))


@given(st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)), st.integers(60, 10**9), st.floats(0.7, 0.9))
def test_renewal_comes_after_most_of_a_life(begins: datetime, seconds: int, fraction: float) -> None:
    life = timedelta(seconds=seconds)
    found = renewal(Period(begins, begins + life), fraction) - begins
    assert life * 0.69 < found < life * 0.91


def test_retries_wait_longer_each_time() -> None:
    assert [retry_seconds(failures) for failures in (1, 2, 3, 7, 8, 100)] == [2, 4, 8, 128, 128, 128]


@pytest.fixture
async def joinable(cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[ControlPlane]:
    """A control plane that nodes may join, with its controllers of certificates."""
    signing = partial(CertificateSigningController, signer=HourSigner(Pki(tmp_path / "pki")))
    await joining.publish(cluster.client, "text")
    async with running(
        cluster.client,
        CertificateApprovingController,
        ServingCertificateApprovingController,
        CertificateCleanerController,
        signing,
    ):
        yield cluster


class Changes:
    """Counts the changes of a certificate's file, with their times."""

    def __init__(self) -> None:
        self.moments: list[datetime] = []

    async def note(self) -> None:
        self.moments.append(clock.now())


@asynccontextmanager
async def managed(
    cluster: ControlPlane, file: PairFile, addresses: Sequence[str] = ()
) -> AsyncIterator[tuple[CertificateManager, Changes]]:
    changes = Changes()
    manager = CertificateManager(cluster.client_for(NODE), "n1", file, addresses, changes.note)
    task = asyncio.create_task(manager.run())
    try:
        yield manager, changes
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.mark.parametrize("addresses", [(), ("192.0.2.1",)])
async def test_certificate_is_renewed_for_ever(
    joinable: ControlPlane, tmp_path: Path, addresses: tuple[str, ...]
) -> None:
    file = PairFile(tmp_path / "pair.pem")
    async with managed(joinable, file, addresses) as (_, changes):
        await clock.sleep(1)
        assert len(changes.moments) == 1
        for hour in range(1, 6):
            await clock.sleep(HOUR)
            found = file.period()
            assert found is not None
            assert found.ends > clock.now()
            assert found.addresses == addresses
            assert len(changes.moments) >= 1 + hour
        moments = changes.moments
        between = [moments[n + 1] - moments[n] for n in range(len(moments) - 1)]
        assert all(timedelta(minutes=40) < each < timedelta(minutes=54) for each in between)
        assert len(set(between)) > 1  # drawn anew each time


async def test_good_certificate_is_kept_over_restarts(joinable: ControlPlane, tmp_path: Path) -> None:
    file = PairFile(tmp_path / "pair.pem")
    async with managed(joinable, file) as (_, changes):
        await clock.sleep(1)
    content = file.path.read_bytes()
    for _ in range(3):
        async with managed(joinable, file) as (_, changes):
            await clock.sleep(300)
            assert changes.moments == []
    assert file.path.read_bytes() == content


async def test_new_address_needs_a_new_certificate(joinable: ControlPlane, tmp_path: Path) -> None:
    file = PairFile(tmp_path / "pair.pem")
    async with managed(joinable, file, ("192.0.2.1",)):
        await clock.sleep(1)
    async with managed(joinable, file, ("192.0.2.2",)):
        await clock.sleep(1)
        found = file.period()
        assert found is not None
        assert found.addresses == ("192.0.2.2",)


async def test_denied_request_leaves_the_old_certificate(joinable: ControlPlane, tmp_path: Path) -> None:
    file = PairFile(tmp_path / "pair.pem")
    await joinable.client.create(Node(metadata=ObjectMeta(name="n2")))
    status = {"status": {"addresses": [{"type": "InternalIP", "address": "192.0.2.2"}]}}
    async with managed(joinable, file, ("192.0.2.1",)):
        await clock.sleep(1)
    content = file.path.read_bytes()
    await joinable.client.patch(Node, "n2", status, subresource="status")
    async with managed(joinable, file, ("192.0.2.2",)) as (manager, changes):
        await clock.sleep(10)
        assert manager.trouble == "192.0.2.2 is the address of node n2"
        assert (changes.moments, file.path.read_bytes()) == ([], content)
        await joinable.client.delete(Node, "n2")
        await clock.sleep(60)
        assert (manager.trouble, len(changes.moments)) == ("", 1)


async def test_renewal_waits_for_an_approval(cluster: ControlPlane, tmp_path: Path) -> None:
    """Without an approver, requests are made again every quarter of an hour until a person approves one."""
    file, pki = PairFile(tmp_path / "pair.pem"), Pki(tmp_path / "pki")
    async with managed(cluster, file) as (manager, changes):
        await clock.sleep(3600)
        assert manager.trouble == "the request was not approved in time"
        requests = (await cluster.client.list(CertificateSigningRequest)).items
        assert 3 <= len(requests) <= 5
        newest = max(requests, key=lambda each: each.metadata.creation_timestamp or clock.now())
        pem = base64.b64decode(newest.spec.request)
        signed = RequestSigner(pki).sign(pem, newest.spec.usages, None)
        condition = {"type": "Approved", "status": "True", "reason": "x", "message": "x"}
        name = newest.metadata.name or ""
        approved = {"status": {"conditions": [condition]}}
        await cluster.client.patch(CertificateSigningRequest, name, approved, subresource="approval")
        certificate = {"status": {"certificate": base64.b64encode(signed).decode()}}
        await cluster.client.patch(CertificateSigningRequest, name, certificate, subresource="status")
        await clock.sleep(10)
        assert len(changes.moments) == 1

"""Objects of every namespace: the default service account and the cluster's root certificate."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from podling.api.core_v1 import ConfigMap, Namespace, ServiceAccount
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.auth.root_ca import RootCAController
from podling.controllers.auth.service_account import ServiceAccountController
from podling.controllers.base import ControllerContext
from podling.controllers.controller_manager import ControllerManager
from podling.testing import ControlPlane
from tests.support.control_loops import running


def root_ca(context: ControllerContext) -> RootCAController:
    return RootCAController(context, "CERTIFICATE")


@pytest.fixture
async def manager(cluster: ControlPlane) -> AsyncIterator[ControllerManager]:
    async with running(cluster.client, ServiceAccountController, root_ca) as manager:
        await cluster.advance(seconds=1)
        yield manager


@pytest.mark.usefixtures("manager")
async def test_a_new_namespace_gets_both(cluster: ControlPlane) -> None:
    await cluster.client.create(Namespace(metadata=ObjectMeta(name="team")))
    await cluster.advance(seconds=1)
    await cluster.client.get(ServiceAccount, "default", "team")
    published = await cluster.client.get(ConfigMap, "kube-root-ca.crt", "team")
    assert published.data == {"ca.crt": "CERTIFICATE"}
    assert "CA bundle" in published.metadata.annotations["kubernetes.io/description"]


@pytest.mark.usefixtures("manager")
async def test_both_come_back_when_deleted(cluster: ControlPlane) -> None:
    await cluster.client.delete(ServiceAccount, "default", "default")
    await cluster.client.delete(ConfigMap, "kube-root-ca.crt", "default")
    await cluster.advance(seconds=1)
    await cluster.client.get(ServiceAccount, "default", "default")
    await cluster.client.get(ConfigMap, "kube-root-ca.crt", "default")


@pytest.mark.usefixtures("manager")
async def test_a_changed_certificate_is_put_right(cluster: ControlPlane) -> None:
    patch = {"data": {"ca.crt": "FORGED"}, "metadata": {"annotations": None}}
    await cluster.client.patch(ConfigMap, "kube-root-ca.crt", patch, "default")
    await cluster.advance(seconds=1)
    published = await cluster.client.get(ConfigMap, "kube-root-ca.crt", "default")
    assert published.data == {"ca.crt": "CERTIFICATE"}
    assert published.metadata.annotations


async def test_a_namespace_that_goes_away_gets_nothing(
    cluster: ControlPlane, manager: ControllerManager
) -> None:
    """No namespace controller runs: the namespace stays Terminating, and its account is not made again."""
    await cluster.client.create(Namespace(metadata=ObjectMeta(name="team")))
    await cluster.advance(seconds=1)
    await cluster.client.delete(Namespace, "team")
    await cluster.client.delete(ServiceAccount, "default", "team")
    await cluster.advance(seconds=30)
    assert (await cluster.client.list(ServiceAccount, "team")).items == ()
    assert all(counters.failures == 0 for counters in manager.counters.values())

"""The controller of service account tokens in Secrets."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator

import pytest

from podling.api.core_v1 import ObjectReference, Secret, ServiceAccount
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.auth.clusterrole_aggregation import ClusterRoleAggregationController
from podling.controllers.auth.service_account_tokens import ServiceAccountTokensController
from podling.controllers.base import ControllerContext
from podling.controllers.controller_manager import ControllerManager
from podling.testing import ControlPlane
from tests.support.control_loops import running


def tokens(context: ControllerContext) -> ServiceAccountTokensController:
    return ServiceAccountTokensController(context, "CERTIFICATE")


@pytest.fixture
async def manager(cluster: ControlPlane) -> AsyncIterator[ControllerManager]:
    async with running(cluster.client, ClusterRoleAggregationController, tokens) as manager:
        yield manager
        assert all(counters.failures == 0 for counters in manager.counters.values())


pytestmark = pytest.mark.usefixtures("manager")


async def make_secret(cluster: ControlPlane) -> Secret:
    annotations = {"kubernetes.io/service-account.name": "robot"}
    metadata = ObjectMeta(name="key", namespace="default", annotations=annotations)
    await cluster.client.create(Secret(metadata=metadata, type="kubernetes.io/service-account-token"))
    await cluster.advance(seconds=1)
    return await cluster.client.get(Secret, "key", "default")


async def test_a_secret_gets_a_token_that_is_good(cluster: ControlPlane) -> None:
    account = ServiceAccount(metadata=ObjectMeta(name="robot", namespace="default"))
    created = await cluster.client.create(account)
    held = await make_secret(cluster)
    assert held.metadata.annotations["kubernetes.io/service-account.uid"] == created.metadata.uid
    data = {name: base64.b64decode(text).decode() for name, text in held.data.items()}
    assert (data["ca.crt"], data["namespace"]) == ("CERTIFICATE", "default")
    user = cluster.server.authenticator.token_user(data["token"])
    assert user is not None
    assert user.name == "system:serviceaccount:default:robot"
    await cluster.client.delete(Secret, "key", "default")
    assert cluster.server.authenticator.token_user(data["token"]) is None, "the token ends with its Secret"


async def test_the_secret_goes_with_its_account(cluster: ControlPlane) -> None:
    account = ServiceAccount(metadata=ObjectMeta(name="robot", namespace="default"))
    await cluster.client.create(account)
    await make_secret(cluster)
    await cluster.client.delete(ServiceAccount, "robot", "default")
    await cluster.advance(seconds=1)
    assert (await cluster.client.list(Secret, "default")).items == ()


async def make_account(cluster: ControlPlane, *secrets: str) -> ServiceAccount:
    references = tuple(ObjectReference(name=name) for name in secrets)
    metadata = ObjectMeta(name="robot", namespace="default")
    return await cluster.client.create(ServiceAccount(metadata=metadata, secrets=references))


async def test_account_forgets_a_secret_that_is_deleted(cluster: ControlPlane) -> None:
    await make_account(cluster, "key", "other")
    await make_secret(cluster)
    await cluster.client.delete(Secret, "key", "default")
    await cluster.advance(seconds=1)
    account = await cluster.client.get(ServiceAccount, "robot", "default")
    assert [each.name for each in account.secrets] == ["other"]


async def test_secret_of_an_earlier_account_of_the_name_is_deleted(cluster: ControlPlane) -> None:
    await make_account(cluster)
    annotations = {
        "kubernetes.io/service-account.name": "robot",
        "kubernetes.io/service-account.uid": "earlier",
    }
    metadata = ObjectMeta(name="old", namespace="default", annotations=annotations)
    await cluster.client.create(Secret(metadata=metadata, type="kubernetes.io/service-account-token"))
    await cluster.advance(seconds=1)
    assert (await cluster.client.list(Secret, "default")).items == ()


@pytest.mark.parametrize(
    ("entry", "text", "is_restored"),
    [("ca.crt", "OTHER", True), ("namespace", "other", False), ("namespace", "", True), ("mine", "x", False)],
)
async def test_missing_entries_and_the_certificate_are_restored(
    cluster: ControlPlane, entry: str, text: str, is_restored: bool
) -> None:
    await make_account(cluster)
    held = await make_secret(cluster)
    changed = {"data": {entry: base64.b64encode(text.encode()).decode()}}
    await cluster.client.patch(Secret, "key", changed, "default")
    await cluster.advance(seconds=1)
    found = (await cluster.client.get(Secret, "key", "default")).data
    assert found["token"] == held.data["token"]
    assert found[entry] == (held.data[entry] if is_restored else changed["data"][entry])

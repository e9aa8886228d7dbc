"""The controller of service account tokens in Secrets."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator

import pytest

from podling.api.core_v1 import Secret, ServiceAccount
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

"""Deletion of bootstrap tokens that have expired, on virtual time."""

from __future__ import annotations

from datetime import timedelta

from msgspec import structs

from podling import clock
from podling.api.core_v1 import ConfigMap, Secret
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Client
from podling.controllers.auth.bootstrap_signer import BootstrapSignerController
from podling.controllers.auth.token_cleaner import TokenCleanerController
from podling.machinery.tokens import bootstrap_tokens
from podling.machinery.tokens.bootstrap_tokens import BootstrapToken
from podling.testing import ControlPlane
from tests.support.control_loops import running

FIRST, SECOND = BootstrapToken("aaaaaa", "0" * 16), BootstrapToken("bbbbbb", "1" * 16)


async def signatures(client: Client) -> dict[str, str]:
    await clock.sleep(1)
    held = await client.get(ConfigMap, "cluster-info", "kube-public")
    return {name: text for name, text in held.data.items() if name != "kubeconfig"}


def information(text: str) -> ConfigMap:
    return ConfigMap(
        metadata=ObjectMeta(name="cluster-info", namespace="kube-public"), data={"kubeconfig": text}
    )


async def test_expired_token_is_deleted_and_signs_no_more(cluster: ControlPlane) -> None:
    client = cluster.client
    await client.create(bootstrap_tokens.new_secret(FIRST, clock.now() + timedelta(minutes=10)))
    await client.create(bootstrap_tokens.new_secret(SECOND, None))
    await client.create(information("one"))
    async with running(client, BootstrapSignerController, TokenCleanerController):
        await clock.sleep(590)
        assert set(await signatures(client)) == {"jws-kubeconfig-aaaaaa", "jws-kubeconfig-bbbbbb"}
        await clock.sleep(10)
        assert set(await signatures(client)) == {"jws-kubeconfig-bbbbbb"}
        left = [each.metadata.name for each in (await client.list(Secret, "kube-system")).items]
        assert left == ["bootstrap-token-bbbbbb"]


async def test_cleaner_leaves_secrets_of_other_types_and_namespaces(cluster: ControlPlane) -> None:
    client, past = cluster.client, clock.now() - timedelta(hours=1)
    secret = bootstrap_tokens.new_secret(FIRST, past)
    await client.create(structs.replace(secret, type="Opaque"))
    metadata = structs.replace(secret.metadata, namespace="default")
    await client.create(structs.replace(secret, metadata=metadata))
    await client.create(bootstrap_tokens.new_secret(SECOND, past))
    async with running(client, TokenCleanerController):
        await clock.sleep(1)
    assert [each.metadata.name for each in (await client.list(Secret)).items] == [
        "bootstrap-token-aaaaaa"
    ] * 2

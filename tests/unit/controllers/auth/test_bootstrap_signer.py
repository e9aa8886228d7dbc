"""Signatures of the cluster's information, on virtual time."""

from __future__ import annotations

from podling import clock
from podling.api.core_v1 import ConfigMap, Secret
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Client
from podling.controllers.auth.bootstrap_signer import BootstrapSignerController
from podling.machinery import cluster_info
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


async def test_signer_follows_tokens_and_information(cluster: ControlPlane) -> None:
    client = cluster.client
    async with running(client, BootstrapSignerController):
        await client.create(bootstrap_tokens.new_secret(FIRST, None))
        await clock.sleep(1)
        await client.create(information("one"))
        assert await signatures(client) == {"jws-kubeconfig-aaaaaa": cluster_info.signature("one", FIRST)}
        await client.create(bootstrap_tokens.new_secret(SECOND, None))
        assert set(await signatures(client)) == {"jws-kubeconfig-aaaaaa", "jws-kubeconfig-bbbbbb"}
        await client.delete(Secret, "bootstrap-token-aaaaaa", "kube-system")
        await client.patch(ConfigMap, "cluster-info", {"data": {"kubeconfig": "two"}}, "kube-public")
        assert await signatures(client) == {"jws-kubeconfig-bbbbbb": cluster_info.signature("two", SECOND)}


async def test_signer_replaces_forged_signatures_and_leaves_other_entries(cluster: ControlPlane) -> None:
    client = cluster.client
    async with running(client, BootstrapSignerController):
        await client.create(bootstrap_tokens.new_secret(FIRST, None))
        await client.create(information("one"))
        good = cluster_info.signature("one", FIRST)
        await signatures(client)
        forged = {"jws-kubeconfig-aaaaaa": "x", "jws-kubeconfig-cccccc": "y", "other": "z"}
        await client.patch(ConfigMap, "cluster-info", {"data": forged}, "kube-public")
        assert await signatures(client) == {"jws-kubeconfig-aaaaaa": good, "other": "z"}

"""Each background task of a node on another machine fails once, and the node goes on.

The node and its cluster run in this process, as ``podling join`` and ``podling up`` run them. They have one
address, so that the certificate of the kubelet's server is approved as an administrator does it.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from podling.api.certificates_v1 import CertificateSigningRequest
from podling.api.core_v1 import ConfigMap, Container, Pod, PodSpec
from podling.api.meta_v1 import ObjectMeta
from podling.cli.join import _serve
from podling.cli.join_tokens import new_token
from podling.cli.starting.detached import Progress
from podling.client.base import Client
from podling.client.http import HttpClient
from podling.cluster.cluster import Cluster
from podling.cluster.cluster_settings import ClusterSettings
from podling.cluster.directory import DataDirectory
from podling.cluster.joined.identity import NodeIdentity
from podling.cluster.joined.joined_node import JoinedNode
from podling.cluster.joined.settings import JoinedSettings
from podling.kubelet.node.machine import primary_address
from podling.machinery import cluster_info
from podling.machinery.tokens import bootstrap_tokens
from podling.node.joining.discovery import discover
from podling.supervisor import Supervisor
from tests.support.failing_tasks import FailingTasks, sites
from tests.unit.test_supervised_tasks import NEEDS_JOINED_NODE

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.usefixtures("failures_expected"),
    pytest.mark.skipif(primary_address() == "127.0.0.1", reason="the machine has no address for others"),
]
NODE = "joined"
FAULTS = [RecursionError("maximum recursion depth exceeded"), OSError(errno.EMFILE, "Too many open files")]


async def until(what: str, seconds: float = 20) -> AsyncIterator[None]:
    """Yield again and again until the caller is content; fail after some seconds."""
    async with asyncio.timeout(seconds):
        while True:
            yield
            await asyncio.sleep(0.05)  # noqa: TID251 (real processes have no virtual time)


async def approve(client: Client) -> None:
    """Approve the certificate of the kubelet's server."""
    condition = {"type": "Approved", "status": "True", "reason": "x", "message": "x"}
    async for _ in until("request"):
        for each in (await client.list(CertificateSigningRequest)).items:
            if each.spec.signer_name == "kubernetes.io/kubelet-serving" and not each.status.conditions:
                patch, name = {"status": {"conditions": [condition]}}, each.metadata.name or ""
                await client.patch(CertificateSigningRequest, name, patch, subresource="approval")
                return


async def assert_works(client: Client, name: str) -> None:
    """Assert that the node runs a pod and ends it."""
    spec = PodSpec(node_name=NODE, containers=(Container(name="main", image="busybox"),))
    await client.create(Pod(metadata=ObjectMeta(name=name, namespace="default"), spec=spec))
    async for _ in until("running"):
        if (await client.get(Pod, name, "default")).status.phase == "Running":
            break
    await client.delete(Pod, name, "default", grace_seconds=1)
    async for _ in until("gone"):
        if name not in [each.metadata.name for each in (await client.list(Pod, "default")).items]:
            break


@asynccontextmanager
async def cluster(path: Path) -> AsyncIterator[tuple[Cluster, Client]]:
    directory = DataDirectory(path / "cluster")
    directory.create()
    controllers = "*,-kubelet-serving-certificate-approver"
    settings = ClusterSettings(
        runtime="sim", nodes=0, advertise_address=primary_address(), controllers=controllers
    )
    found, supervisor = Cluster(directory, settings, lambda *_: None), Supervisor()
    await found.start()
    client = HttpClient.from_kubeconfig(found.write_kubeconfig(None, supervisor))
    try:
        yield found, client
    finally:
        await client.close()
        await supervisor.close()
        await found.stop()


@asynccontextmanager
async def joined(path: Path, above: Cluster, client: Client) -> AsyncIterator[None]:
    """Join the cluster and run the node until the block ends."""
    token, directory = new_token(), DataDirectory(path / "node")
    directory.create()
    await client.create(bootstrap_tokens.new_secret(token, None))
    url = f"https://{primary_address()}:{above.port}"
    ca_hash = cluster_info.key_hash((above.directory.pki / "ca.crt").read_bytes())
    async for _ in until("signature"):
        information = await client.get(ConfigMap, cluster_info.NAME, cluster_info.NAMESPACE)
        if f"{cluster_info.SIGNATURE_PREFIX}{token.id}" in information.data:
            break
    found = await discover(url, token, ca_hash)
    await NodeIdentity(directory).establish(found, token, NODE)
    settings = JoinedSettings(server=found.server, node_name=NODE, runtime="sim")
    node = JoinedNode(directory, settings, lambda *_: None)
    served = asyncio.create_task(_serve(node, directory, Progress(-1)))
    await approve(client)
    try:
        yield
        assert not served.done(), served.exception()
    finally:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.gather(served, return_exceptions=True)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
async def test_every_task_of_a_joined_node_may_fail_once(
    fault: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = FailingTasks(monkeypatch, fault)
    async with cluster(tmp_path) as (above, client), joined(tmp_path, above, client):
        await assert_works(client, "first-runs-failed")
        own = {task for task in tasks.long_lived() if task[0].startswith(("certificates/", "log-", "memory"))}
        assert len(own) == 4
        for name, subject in sorted(own):
            tasks.fail(name, subject)
        await assert_works(client, "all-failed-once")
        async for _ in until("restarts"):
            if own <= set(tasks.long_lived()):
                break
    wanted = {site for site in sites() if site[0] in NEEDS_JOINED_NODE}
    assert wanted - tasks.sites == set(), "these tasks are not run here, so their failure is not tried"

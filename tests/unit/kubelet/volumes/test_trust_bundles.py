"""Certificates of authorities in projected volumes: those of one bundle, or of a signer's bundles."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from podling.api.certificates_v1beta1 import ClusterTrustBundle
from podling.api.core_v1 import Event, Pod
from podling.client.requests import SYSTEM, Target, User, WriteOptions
from podling.kubelet.config import KubeletConfig
from podling.kubelet.volumes.mounting import unmount
from podling.kubelet.volumes.trust_bundles import joined
from podling.machinery.scheme import resource_of
from podling.testing import ControlPlane
from podling.testing.control_plane import memory_cluster
from tests.support.kubelet_node import SimNode, pod, sim_node
from tests.support.trust_bundles import block, bundle, der

GATES = {"ClusterTrustBundle": True, "ClusterTrustBundleProjection": True}
ROOTS = {name: block(der(name)) for name in ("root1", "root2", "root3")}
SIGNER = "foo.bar/a"
SIGNED = (
    bundle("foo.bar:a:live", SIGNER, ROOTS["root1"], labels={"label": "a"}),
    bundle("foo.bar:a:more", SIGNER, ROOTS["root1"] + "\n" + ROOTS["root2"], labels={"label": "b"}),
    bundle("foo.bar:b:live", "foo.bar/b", ROOTS["root3"], labels={"label": "a"}),
    bundle("plain", text=ROOTS["root3"]),
)


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[SimNode]:
    config = KubeletConfig(
        node_addresses=("192.168.0.10",), resolv_conf=None, write_files=True, feature_gates=GATES
    )
    async with (
        memory_cluster(feature_gates=GATES) as plane,
        sim_node(plane, tmp_path, config=config) as found,
    ):
        for each in SIGNED:
            await plane.client.create(each)
        yield found
    unmount_all(tmp_path)


def unmount_all(root: Path) -> None:
    for path in list(root.glob("pods/*/volumes/*/*")):
        unmount(path)


def trusting(**source: Any) -> Pod:
    projected = {"sources": [{"clusterTrustBundle": {"path": "ca.pem", **source}}]}
    mounts = [{"name": "trust", "mountPath": "/trust"}]
    containers = [{"name": "app", "image": "app:1", "volumeMounts": mounts}]
    return pod(containers=containers, volumes=[{"name": "trust", "projected": projected}])


async def shown(node: SimNode) -> str | None:
    """Return the file of the pod; None while there is none."""
    uid = (await node.get()).metadata.uid or ""
    paths = list((node.deps.root_dir / "pods" / uid / "volumes").glob("*/trust/ca.pem"))
    return paths[0].read_text() if paths else None


def of(*names: str) -> str:
    return joined(ROOTS[name] for name in names).decode()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"name": "plain"}, of("root3")),
        ({"name": "foo.bar:a:more"}, of("root1", "root2")),
        ({"name": "gone", "optional": True}, ""),
        ({"signerName": SIGNER, "labelSelector": {}}, of("root1", "root2")),
        ({"signerName": SIGNER, "labelSelector": {"matchLabels": {"label": "a"}}}, of("root1")),
        ({"signerName": SIGNER, "labelSelector": {"matchLabels": {"label": "c"}}, "optional": True}, ""),
        ({"signerName": SIGNER, "optional": True}, ""),
    ],
    ids=["by name", "of a signer by name", "absent", "of a signer", "by label", "no match", "no selector"],
)
async def test_file_has_the_selected_certificates_once(
    node: SimNode, source: dict[str, Any], expected: str
) -> None:
    """The cases of upstream's ``TestGetTrustAnchorsByName`` and ``TestGetTrustAnchorsBySignerName``."""
    await node.create(trusting(**source))
    await node.pass_time(10)
    assert await shown(node) == expected


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            {"name": "gone"},
            'while getting ClusterTrustBundle: clustertrustbundles.certificates.k8s.io "gone" not found',
        ),
        (
            {"signerName": SIGNER},
            "combination of signerName and labelSelector matched zero ClusterTrustBundles",
        ),
    ],
)
async def test_pod_waits_for_its_certificates(node: SimNode, source: dict[str, Any], text: str) -> None:
    await node.create(trusting(**source))
    await node.pass_time(10)
    assert await shown(node) is None
    assert any(text in (event.message or "") for event in (await node.client.list(Event, "default")).items)


async def test_changed_bundle_shows_within_the_sync_period(node: SimNode) -> None:
    await node.create(trusting(name="plain"))
    await node.pass_time(10)
    patch = {"spec": {"trustBundle": ROOTS["root2"]}}
    await node.plane.client.patch(ClusterTrustBundle, "plain", patch)
    await node.pass_time(95)
    assert await shown(node) == of("root2")


async def test_node_may_read_bundles_with_the_feature_gate(node: SimNode) -> None:
    kubelet = User("system:node:node-1", ("system:nodes", "system:authenticated"))
    found = await node.plane.client_for(kubelet).list(ClusterTrustBundle)
    assert len(found.items) == len(SIGNED)


async def test_pod_is_warned_about_without_the_feature_gate(cluster: ControlPlane) -> None:
    options = WriteOptions()
    await cluster.backend.create(Target(resource_of(Pod), "default"), SYSTEM, trusting(name="plain"), options)
    text = "spec.volumes[0].projected.sources[0].clusterTrustBundle: not honoured by this cluster"
    assert text in options.warnings

"""The bundle of the API server's signer: the cases of upstream's ``TestCTBPublisherSync``."""

from __future__ import annotations

import pytest

from podling.api.certificates_v1beta1 import ClusterTrustBundle
from podling.controllers.auth.trust_bundle_publisher import SIGNER, bundle_name
from podling.controllers.registry import controllers
from podling.testing.control_plane import memory_cluster
from tests.support.control_loops import running
from tests.support.counts import samples
from tests.support.trust_bundles import block, bundle, der

GATES = {"ClusterTrustBundle": True}
NAMES = ("kube-apiserver-serving-clustertrustbundle-publisher-controller",)
CERTIFICATE, OLD = block(der("root1")), block(der("root2"))
OWN = bundle_name(CERTIFICATE)
PREFIX = SIGNER.replace("/", ":")
OTHERS = (bundle("nosigner", text=OLD), bundle("a.b:c:one", "a.b/c", OLD))


@pytest.mark.parametrize(
    "existing",
    [
        (),
        OTHERS,
        (bundle(OWN, SIGNER, OLD),),
        (bundle(OWN, SIGNER, CERTIFICATE), bundle(f"{PREFIX}:name2", SIGNER, CERTIFICATE)),
        (bundle(OWN, SIGNER, OLD), bundle(f"{PREFIX}:name2", SIGNER, CERTIFICATE)),
        (bundle(f"{PREFIX}:preexisting", SIGNER, CERTIFICATE),),
        (*OTHERS, bundle(OWN, SIGNER, CERTIFICATE)),
    ],
    ids=[
        "none",
        "none of the signer",
        "other content",
        "several",
        "several and other content",
        "other name",
        "right already",
    ],
)
async def test_signer_has_one_bundle(existing: tuple[ClusterTrustBundle, ...]) -> None:
    async with memory_cluster(feature_gates=GATES) as cluster:
        for each in existing:
            await cluster.client.create(each)
        made = controllers(root_ca=CERTIFICATE, names=NAMES, feature_gates=GATES)
        async with running(cluster.client, *made) as manager:
            await cluster.advance(seconds=5)
            found = {
                each.metadata.name: each for each in (await cluster.client.list(ClusterTrustBundle)).items
            }
            others = {each.metadata.name for each in existing if each.spec.signer_name != SIGNER}
            assert found.keys() == {OWN, *others}
            assert found[OWN].spec == bundle(OWN, SIGNER, CERTIFICATE).spec
            assert samples([manager], "clustertrustbundle_publisher_sync_total")[("200",)] > 0


async def test_deleted_bundle_is_made_again() -> None:
    async with memory_cluster(feature_gates=GATES) as cluster:
        made = controllers(root_ca=CERTIFICATE, names=NAMES, feature_gates=GATES)
        async with running(cluster.client, *made):
            await cluster.advance(seconds=5)
            before = await cluster.client.get(ClusterTrustBundle, OWN)
            await cluster.client.delete(ClusterTrustBundle, OWN)
            await cluster.advance(seconds=5)
            assert (await cluster.client.get(ClusterTrustBundle, OWN)).metadata.uid != before.metadata.uid


def test_controller_needs_the_feature_gate() -> None:
    assert controllers(root_ca=CERTIFICATE, names=NAMES) == []

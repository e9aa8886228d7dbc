"""Claim templates that change together with an image: pods and claims are recreated where the gate says so.

Cases: ``TestPatchVCTemplateHash``, ``TestGetVCTemplatesHash``, ``TestCanVCTemplateInplaceUpdate``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import PersistentVolumeClaim
from podling.api.meta_v1 import ObjectMeta
from podling.machinery.encoding import codec
from podling_kruise.cloneset.claim_hash import CLAIM_HASH, claim_hash, needs_new_claims
from podling_kruise.cloneset.types import CloneSet, CloneSetSpec, RollingUpdate, UpdateStrategy
from podling_kruise.names import FEATURE_GATES, RECREATE_WITH_CLAIMS
from tests.support.clone_sets import Kruise, kruise_cluster, manifest, template

OPEN = {**FEATURE_GATES, RECREATE_WITH_CLAIMS: True}


def claim(name: str = "data", size: str = "1Gi", **metadata: Any) -> dict[str, Any]:
    resources = {"requests": {"storage": size}}
    return {
        "metadata": {"name": name, **metadata},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": resources},
    }


def hash_of(*templates: dict[str, Any]) -> str:
    return claim_hash(tuple(codec.from_plain(each, PersistentVolumeClaim) for each in templates))


def test_hash_is_of_names_and_specs_in_any_order() -> None:
    one, two = claim("a"), claim("b", "2Gi")
    assert hash_of() == ""
    assert hash_of(one, two) == hash_of(two, one)
    assert hash_of(claim("a", labels={"x": "y"}, annotations={"x": "y"})) == hash_of(one)
    assert len({hash_of(one), hash_of(two), hash_of(one, two), hash_of(claim("a", "2Gi")), ""}) == 5


def revision(digest: str | None, **annotations: str) -> ControllerRevision:
    noted = {} if digest is None else {CLAIM_HASH: digest}
    return ControllerRevision(metadata=ObjectMeta(annotations={**annotations, **noted}), data={}, revision=1)


def owner(policy: str = "InPlaceIfPossible") -> CloneSet:
    rolling = RollingUpdate(pod_update_policy=policy)
    return CloneSet(spec=CloneSetSpec(update_strategy=UpdateStrategy(rolling_update=rolling)))


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        (None, None, False),
        (None, "1", False),
        ("1", None, False),
        (None, "", False),
        ("", "", False),
        ("1", "1", False),
        ("", "1", True),
        ("1", "", True),
        ("1", "2", True),
    ],
)
def test_hashes_of_two_revisions_decide(old: str | None, new: str | None, wanted: bool) -> None:
    both = revision(old, other="x"), revision(new)
    assert needs_new_claims(owner(), *both, OPEN) is wanted
    assert not needs_new_claims(owner(), *both, FEATURE_GATES)
    assert not needs_new_claims(owner("InPlaceOnly"), *both, OPEN)


async def pods_and_sizes(kruise: Kruise) -> tuple[set[str | None], list[str]]:
    found = (await kruise.client.list(PersistentVolumeClaim, "default")).items
    living = [each for each in found if each.metadata.deletion_timestamp is None]
    sizes = [each.spec.resources.requests["storage"] for each in living if each.spec.resources]
    return {pod.metadata.uid for pod in await kruise.pods()}, sizes


@pytest.mark.parametrize("is_open", [False, True], ids=["gate is off", "gate is on"])
async def test_image_and_claims_that_change_together(is_open: bool, tmp_path: Path) -> None:
    async with kruise_cluster(tmp_path, None, **{RECREATE_WITH_CLAIMS: is_open}) as kruise:
        strategy = {"type": "InPlaceIfPossible"}
        made = manifest(replicas=1, updateStrategy=strategy, volumeClaimTemplates=[claim(size="1Gi")])
        await kruise.create(made)
        await kruise.wait(40)
        before, _ = await pods_and_sizes(kruise)
        await kruise.patch(volumeClaimTemplates=[claim(size="2Gi")])
        await kruise.wait(40)
        assert await pods_and_sizes(kruise) == (before, ["1Gi"])  # claims alone update nothing
        await kruise.patch(template=template("web:2"), volumeClaimTemplates=[claim(size="3Gi")])
        await kruise.wait(120)
        after, sizes = await pods_and_sizes(kruise)
        assert await kruise.images() == {"web:2": 1}
        assert (after == before, sizes) == ((False, ["3Gi"]) if is_open else (True, ["1Gi"]))


async def test_revision_that_is_taken_up_again_gets_the_hash_of_today(tmp_path: Path) -> None:
    async with kruise_cluster(tmp_path, None, **{RECREATE_WITH_CLAIMS: True}) as kruise:
        strategy = {"type": "InPlaceIfPossible", "paused": True}
        await kruise.create(manifest(replicas=1, updateStrategy=strategy, volumeClaimTemplates=[claim()]))
        await kruise.wait(40)
        await kruise.change("web:2")
        await kruise.wait(10)
        await kruise.patch(template=template("web:1"), volumeClaimTemplates=[claim(size="2Gi")])
        await kruise.wait(10)
        found = (await kruise.client.list(ControllerRevision, "default")).items
        newest = max(found, key=lambda each: each.revision)
        assert (len(found), newest.revision) == (2, 3)
        templates = (await kruise.get()).spec.volume_claim_templates
        assert [each.spec.resources and each.spec.resources.requests for each in templates] == [
            {"storage": "2Gi"}
        ]
        assert newest.metadata.annotations[CLAIM_HASH] == claim_hash(templates)

"""Downloads of new images before updates, with their feature gates on, on a simulated node."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import Node, Pod
from podling.runtime.sim import Scenario
from podling.runtime.sim.script import ImageScript
from podling_kruise.imagepull.types import ImagePullJob
from podling_kruise.names import DAEMON_PREDOWNLOAD_GATE, PREDOWNLOAD_GATE
from tests.support.advanced_sets import GATE, DaemonSets, StatefulSets, daemon, rolling, stateful
from tests.support.clone_sets import Kruise, cluster_of, manifest, template
from tests.support.control_loops import told
from tests.support.kubelet_node import NODE

SLOW = Scenario(images={"docker.io/library/web:2": ImageScript(pull_seconds=30)})
HELD = {"type": "InPlaceIfPossible", "partition": 5}
CREATED = "CreatedImagePullJob"


async def jobs_of(kruise: Kruise) -> list[ImagePullJob]:
    return list((await kruise.client.list(ImagePullJob, "default")).items)


async def labels_of_update(kruise: Kruise) -> Mapping[str, str]:
    """Return the labels of the newest revision."""
    found = (await kruise.client.list(ControllerRevision, "default")).items
    return max(found, key=lambda each: each.revision).metadata.labels


async def test_image_is_on_the_node_before_the_pods_are_updated(tmp_path: Path) -> None:
    async with cluster_of(Kruise, tmp_path, SLOW, **{PREDOWNLOAD_GATE: True}) as kruise:
        secrets = [{"name": "login"}]
        await kruise.create(
            manifest(replicas=5, updateStrategy=HELD, template=template(imagePullSecrets=secrets))
        )
        await kruise.wait(60)
        assert await jobs_of(kruise) == []
        changed = template("web:2", imagePullSecrets=secrets)
        changed["metadata"]["annotations"] = {"note": "a"}
        await kruise.patch(template=changed)
        await kruise.wait(10)
        (job,) = await jobs_of(kruise)
        owner, update = await kruise.get(), (await kruise.get()).status.update_revision
        digest = (await labels_of_update(kruise))["controller.kubernetes.io/hash"]
        assert job.metadata.name == f"{update}-main"
        assert [each.uid for each in job.metadata.owner_references] == [owner.metadata.uid]
        assert job.metadata.labels == {"app": "web", "controller.kubernetes.io/hash": digest}
        spec = job.spec
        assert (spec.image, spec.pull_secrets, spec.parallelism) == ("web:2", ("login",), 1)
        assert (spec.pull_policy.backoff_limit, spec.pull_policy.timeout_seconds) == (1, 300)
        assert (spec.completion_policy.type, spec.completion_policy.ttl_seconds_after_finished) == (
            "Always",
            600,
        )
        assert spec.sandbox_config is not None
        assert (spec.sandbox_config.labels, spec.sandbox_config.annotations) == (
            job.metadata.labels,
            {"note": "a"},
        )
        assert spec.pod_selector is not None
        (others,) = spec.pod_selector.match_expressions
        assert (others.key, others.operator) == ("controller-revision-hash", "NotIn")
        assert others.values == (update, digest)
        await kruise.wait(60)
        assert (await jobs_of(kruise))[0].status.succeeded == 1
        assert await kruise.node.runtime.images.image_status("web:2") is not None
        assert await kruise.images() == {"web:1": 5}
        await kruise.patch(updateStrategy={"partition": 0})
        await kruise.wait(120)
        assert await kruise.images() == {"web:2": 5}
        assert await jobs_of(kruise) == []
        assert (await kruise.events()).count(CREATED) == 1
        text = f"created ImagePullJob {update}-main for image: web:2"
        assert any(text in each for each in await told(kruise.plane.client))


@pytest.mark.parametrize(
    ("gates", "spec", "change"),
    [
        ({}, {}, {}),
        ({PREDOWNLOAD_GATE: True}, {"replicas": 3}, {}),
        ({PREDOWNLOAD_GATE: True}, {"updateStrategy": {"type": "ReCreate", "partition": 5}}, {}),
        (
            {PREDOWNLOAD_GATE: True},
            {"updateStrategy": {**HELD, "partition": 0, "maxUnavailable": "100%"}},
            {},
        ),
        ({PREDOWNLOAD_GATE: True}, {}, {"hostNetwork": True}),
    ],
    ids=["gate is off", "three pods", "recreated", "one batch", "not in place"],
)
async def test_nothing_is_downloaded_where_it_does_not_help(
    gates: dict[str, bool], spec: dict[str, Any], change: dict[str, Any], tmp_path: Path
) -> None:
    async with cluster_of(Kruise, tmp_path, None, **gates) as kruise:
        await kruise.create(manifest(**{"replicas": 5, "updateStrategy": HELD, **spec}))
        await kruise.wait(60)
        await kruise.change("web:2", **change)
        await kruise.wait(5)
        assert await jobs_of(kruise) == []
        assert ("apps.kruise.io/image-predownload-ignored" in await labels_of_update(kruise)) == bool(gates)
        assert CREATED not in await kruise.events()


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
async def test_download_waits_for_updated_pods_and_takes_the_settings(version: str, tmp_path: Path) -> None:
    strategy: dict[str, Any] = {"type": "InPlaceIfPossible", "partition": 4, "maxUnavailable": 1}
    annotations = {
        "apps.kruise.io/image-predownload-parallelism": "10",
        "apps.kruise.io/image-predownload-timeout-seconds": "120",
        "apps.kruise.io/image-predownload-min-updated-ready-pods": "2",
    }
    if version == "v1beta1":
        downloads = {
            "imagePreDownloadParallelism": 10,
            "imagePreDownloadTimeoutSeconds": 120,
            "imagePreDownloadMinUpdatedReadyPods": 2,
        }
        fields = {"podUpdatePolicy": "InPlaceIfPossible", "partition": 4, "maxUnavailable": 1}
        strategy = {"type": "RollingUpdate", "rollingUpdate": {**fields, "inPlaceUpdateStrategy": downloads}}
        annotations = {}
    async with cluster_of(Kruise, tmp_path, None, **{PREDOWNLOAD_GATE: True}) as kruise:
        made = manifest(version, replicas=5, updateStrategy=strategy)
        made["metadata"]["annotations"] = annotations
        await kruise.create(made)
        await kruise.wait(60)
        await kruise.change("web:2")
        await kruise.wait(60)
        assert (await kruise.images(), await jobs_of(kruise)) == ({"web:1": 4, "web:2": 1}, [])
        await kruise.patch(updateStrategy={"partition": 3})
        await kruise.wait(60)
        (job,) = await jobs_of(kruise)
        assert (job.spec.parallelism, job.spec.pull_policy.timeout_seconds) == (10, 120)


@pytest.mark.parametrize(("least", "is_early"), [("1", False), ("30%", True), ("none", False)])
async def test_stateful_sets_download_by_annotations(least: str, is_early: bool, tmp_path: Path) -> None:
    async with cluster_of(StatefulSets, tmp_path, None, **{PREDOWNLOAD_GATE: True}) as sets:
        strategy = rolling("InPlaceIfPossible", partition=3, maxUnavailable=1)
        made = stateful(
            replicas=4, podManagementPolicy="Parallel", updateStrategy=strategy, template=template(**GATE)
        )
        made["metadata"]["annotations"] = {
            "apps.kruise.io/image-predownload-parallelism": "2",
            "apps.kruise.io/image-predownload-min-updated-ready-pods": least,
        }
        await sets.create(made)
        await sets.wait(60)
        await sets.change("web:2", **GATE)
        await sets.wait(60)
        assert await sets.images() == {"web:1": 3, "web:2": 1}
        assert len(await jobs_of(sets)) == (not is_early)  # 30 % of four pods are two
        await sets.patch("v1beta1", updateStrategy={"rollingUpdate": {"partition": 2}})
        await sets.wait(60)
        (job,) = await jobs_of(sets)
        update = (await sets.stored()).status.update_revision
        assert (job.metadata.name, job.spec.image, job.spec.parallelism) == (f"{update}-main", "web:2", 2)
        await sets.patch("v1beta1", updateStrategy={"rollingUpdate": {"partition": 0}})
        await sets.wait(120)
        assert (await sets.images(), await jobs_of(sets)) == ({"web:2": 4}, [])


async def test_daemon_sets_download_for_pods_that_are_recreated_too(tmp_path: Path) -> None:
    async with cluster_of(DaemonSets, tmp_path, SLOW, **{DAEMON_PREDOWNLOAD_GATE: True}) as sets:
        await sets.client.patch(Node, NODE, {"spec": {"taints": None}})
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
        await sets.create(daemon(updateStrategy=strategy))
        await sets.wait(40)
        await sets.change("web:2")
        await sets.wait(60)
        (job,) = await jobs_of(sets)
        assert (job.spec.image, job.status.succeeded) == ("web:2", 1)
        assert await sets.node.runtime.images.image_status("web:2") is not None
        assert await sets.images() == {"web:1": 1}
        await sets.patch("v1beta1", updateStrategy={"rollingUpdate": {"partition": 0}})
        await sets.wait(120)
        assert (await sets.images(), await jobs_of(sets)) == ({"web:2": 1}, [])


async def test_refused_download_is_an_event_and_the_update_goes_on(tmp_path: Path) -> None:
    async with cluster_of(StatefulSets, tmp_path, None, **{PREDOWNLOAD_GATE: True}) as sets:
        strategy = rolling("InPlaceIfPossible", maxUnavailable=1)
        made = stateful(
            replicas=4, podManagementPolicy="Parallel", updateStrategy=strategy, template=template(**GATE)
        )
        made["metadata"]["annotations"] = {"apps.kruise.io/image-predownload-parallelism": "-1"}
        await sets.create(made)
        await sets.wait(60)
        before = {pod.metadata.uid for pod in await sets.pods()}
        await sets.change("web:2", **GATE)
        await sets.wait(120)
        assert (await sets.images(), await jobs_of(sets)) == ({"web:2": 4}, [])
        assert {pod.metadata.uid for pod in await sets.pods()} == before
        events = [each for each in await told(sets.plane.client) if "FailedCreateImagePullJob" in each]
        assert len(events) == 1
        assert "parallelism must be non-negative" in events[0]
        assert "apps.kruise.io/pre-predownload-created" in await labels_of_update(sets)


async def test_download_goes_with_its_workload(tmp_path: Path) -> None:
    async with cluster_of(Kruise, tmp_path, None, **{PREDOWNLOAD_GATE: True}) as kruise:
        await kruise.create(manifest(replicas=5, updateStrategy=HELD))
        await kruise.wait(60)
        await kruise.change("web:2")
        await kruise.wait(5)
        (job,) = await jobs_of(kruise)
        (reference,) = job.metadata.owner_references
        assert (reference.kind, reference.name, reference.controller) == ("CloneSet", "web", True)
        assert all(
            pod.metadata.owner_references[0].uid == reference.uid
            for pod in (await kruise.client.list(Pod, "default")).items
        )

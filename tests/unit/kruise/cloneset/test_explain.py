"""Explanations of CloneSets, in a cluster with OpenKruise on virtual time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podling.api.core_v1 import Pod
from podling.cli.common_options import NoAnswer
from podling.cli.evidence import Explanation, PartProblems
from podling.cli.workloads.extension_kinds import kind_of, why_extended
from podling.runtime.sim import Scenario
from podling.runtime.sim.script import ImageScript
from podling_kruise.extension import KruiseExtension
from tests.support.clone_sets import Kruise, kruise_api, kruise_cluster, manifest, template

IMAGES = {"docker.io/library/absent:*": ImageScript(missing=True)}
HOOK = {"labelsHandler": {"example.com/hold": "true"}}


async def ask(cluster: Kruise, name: str = "web") -> Explanation:
    kind = kind_of([KruiseExtension()], "cloneset")
    assert kind is not None
    return await why_extended(cluster.plane.client, kind, name, "default", PartProblems())


def clone_set(policy: str = "InPlaceIfPossible", /, **more: Any) -> dict[str, Any]:
    rolling = {"podUpdatePolicy": policy, "maxUnavailable": 1, **more.pop("rolling", {})}
    return manifest("v1beta1", updateStrategy={"rollingUpdate": rolling}, template=template(), **more)


async def test_clone_set_with_all_its_pods_is_well(tmp_path: Path) -> None:
    async with kruise_cluster(tmp_path) as cluster:
        await cluster.create(clone_set())
        await cluster.wait()
        answer = await ask(cluster)
    assert answer.healthy
    assert answer.text == "Nothing is wrong: CloneSet web has the 3 pods that it is to have."


async def test_unknown_clone_set_has_no_answer() -> None:
    async with kruise_api() as cluster:
        with pytest.raises(NoAnswer, match='There is no cloneset "web" in namespace default'):
            await ask(cluster)


async def test_image_that_cannot_be_pulled_is_named_with_its_container(tmp_path: Path) -> None:
    async with kruise_cluster(tmp_path, Scenario(images=IMAGES)) as cluster:
        await cluster.create(clone_set())
        await cluster.wait()
        await cluster.patch("v1beta1", template=template("absent:2"))
        await cluster.wait(60)
        answer = await ask(cluster)
    assert (answer.healthy, answer.reason, answer.container) == (False, "ImagePullBackOff", "main")
    assert 'Back-off pulling image "absent:2"' in answer.text
    assert answer.text.startswith("CloneSet web: 1 of 3 pods are updated. Pod web-")
    assert "The old container runs on." in answer.text
    assert [source.name for source in answer.evidence] == [
        "podling.dev/ImageChangePending",
        "InPlaceUpdateReady",
    ]


async def test_container_that_still_has_its_old_image_is_named(tmp_path: Path) -> None:
    slow = {"docker.io/library/slow:*": ImageScript(pull_seconds=600)}
    async with kruise_cluster(tmp_path, Scenario(images=slow)) as cluster:
        await cluster.create(clone_set())
        await cluster.wait()
        await cluster.patch("v1beta1", template=template("slow:2"))
        await cluster.wait()
        answer = await ask(cluster)
    assert answer.reason == "InPlaceUpdate"
    assert "Its container main is to have image slow:2, and still has web:1 (" in answer.text
    assert [source.name for source in answer.evidence] == ["InPlaceUpdateReady"]


async def test_grace_period_is_counted_down(tmp_path: Path) -> None:
    async with kruise_cluster(tmp_path) as cluster:
        await cluster.create(clone_set(rolling={"inPlaceUpdateStrategy": {"gracePeriodSeconds": 60}}))
        await cluster.wait()
        await cluster.patch("v1beta1", template=template("web:2"))
        await cluster.wait(20)
        answer = await ask(cluster)
    assert answer.reason == "GracePeriod"
    assert "It is not ready yet for 40 s more: the grace period of 60 s" in answer.text


async def test_paused_update_names_the_field(tmp_path: Path) -> None:
    async with kruise_cluster(tmp_path) as cluster:
        await cluster.create(clone_set(rolling={"paused": True}))
        await cluster.wait()
        await cluster.patch("v1beta1", template=template("web:2"))
        await cluster.wait()
        answer = await ask(cluster)
    assert answer.reason == "Paused"
    assert answer.text == (
        "CloneSet web is paused: 0 of 3 pods are of its newest template, and no more are updated."
    )
    assert '"paused":false' in answer.advice


async def test_reached_partition_is_well(tmp_path: Path) -> None:
    async with kruise_cluster(tmp_path) as cluster:
        await cluster.create(clone_set(rolling={"partition": 2}))
        await cluster.wait()
        await cluster.patch("v1beta1", template=template("web:2"))
        await cluster.wait(60)
        answer = await ask(cluster)
    assert (answer.healthy, answer.reason) == (True, "Partition")
    assert "has reached its partition of 2: 1 of 3 pods are of its newest template; 2 keep" in answer.text


async def test_update_of_other_fields_under_on_delete_waits_for_deletions(tmp_path: Path) -> None:
    async with kruise_cluster(tmp_path) as cluster:
        await cluster.create(manifest("v1beta1", updateStrategy={"type": "OnDelete"}, template=template()))
        await cluster.wait()
        await cluster.patch("v1beta1", template=template("web:2"))
        await cluster.wait()
        answer = await ask(cluster)
    assert (answer.reason, answer.advice) == ("OnDelete", "Delete the pods of the old template.")


async def test_pods_that_are_not_available_hold_the_update_up(tmp_path: Path) -> None:
    async with kruise_cluster(tmp_path) as cluster:
        await cluster.create(clone_set(minReadySeconds=600))
        await cluster.wait(700)
        await cluster.patch("v1beta1", template=template("web:2"))
        await cluster.wait(60)
        answer = await ask(cluster)
    assert answer.reason == "MaxUnavailable"
    assert "The next pod waits, as 1 are not available now, and maxUnavailable allows 1." in answer.text


async def test_hook_that_holds_a_pod_is_named(tmp_path: Path) -> None:
    async with kruise_cluster(tmp_path) as cluster:
        labels = template()
        labels["metadata"]["labels"]["example.com/hold"] = "true"
        made = clone_set(lifecycle={"inPlaceUpdate": HOOK})
        made["spec"]["template"] = labels
        await cluster.create(made)
        await cluster.wait()
        changed = template("web:2")
        changed["metadata"]["labels"]["example.com/hold"] = "true"
        await cluster.patch("v1beta1", template=changed)
        await cluster.wait()
        answer = await ask(cluster)
    assert answer.reason == "PreparingUpdate"
    assert "it keeps label example.com/hold=true, so its update in place waits." in answer.text
    assert [source.name for source in answer.evidence] == ["spec.lifecycle.inPlaceUpdate"]


async def test_pods_that_the_server_refuses_are_named(tmp_path: Path) -> None:
    async with kruise_cluster(tmp_path) as cluster:
        made = clone_set()
        made["spec"]["template"]["spec"]["priorityClassName"] = "nobody"
        await cluster.create(made)
        await cluster.wait()
        answer = await ask(cluster)
    assert answer.reason == "FailedCreate"
    assert "has 0 of 3 pods: failed to create pod: " in answer.text
    assert "no PriorityClass with name nobody was found" in answer.text


async def test_pod_with_a_problem_of_its_own_is_named(tmp_path: Path) -> None:
    async with kruise_cluster(tmp_path, Scenario(images=IMAGES)) as cluster:
        made = clone_set()
        made["spec"]["template"] = template("absent:1")
        await cluster.create(made)
        await cluster.wait(60)
        answer = await ask(cluster)
        (first, *_) = [pod.metadata.name for pod in (await cluster.plane.client.list(Pod, "default")).items]
    assert (answer.area, answer.healthy) == ("image", False)
    assert f"has 0 of 3 pods Ready. One that is not (3 are not) is {first}: " in answer.text


async def test_exceeded_deadline_is_added(tmp_path: Path) -> None:
    async with kruise_cluster(tmp_path, Scenario(images=IMAGES)) as cluster:
        await cluster.create(clone_set(progressDeadlineSeconds=30))
        await cluster.wait()
        await cluster.patch("v1beta1", template=template("absent:2"))
        await cluster.wait(120)
        answer = await ask(cluster)
    assert answer.text.endswith("It takes longer than progressDeadlineSeconds allows.")

"""``podling why`` for Advanced StatefulSets, on virtual time."""

from __future__ import annotations

from pathlib import Path

from podling.cli.evidence import Explanation, PartProblems
from podling.cli.workloads.extension_kinds import kind_of, why_extended
from podling_kruise.extension import KruiseExtension
from tests.support.advanced_sets import StatefulSets, rolling, stateful
from tests.support.clone_sets import Kruise, cluster_of


async def ask(kruise: Kruise, kind: str, name: str = "web") -> Explanation:
    found = kind_of([KruiseExtension()], kind)
    assert found is not None
    return await why_extended(kruise.plane.client, found, name, "default", PartProblems())


async def test_partition_and_pause_of_a_stateful_set_are_named(tmp_path: Path) -> None:
    async with cluster_of(StatefulSets, tmp_path) as sets:
        await sets.create(stateful(updateStrategy=rolling(partition=2)))
        await sets.wait(60)
        assert (await ask(sets, "statefulset.apps.kruise.io")).healthy
        await sets.change("web:2")
        await sets.wait(60)
        reached = await ask(sets, "statefulset.apps.kruise.io")
        await sets.patch("v1beta1", updateStrategy=rolling(partition=0, paused=True))
        await sets.wait(10)
        paused = await ask(sets, "statefulset.apps.kruise.io")
    assert (reached.healthy, reached.reason) == (True, "Partition")
    assert "1 of 3 pods are of its newest template" in reached.text
    assert (paused.healthy, paused.reason) == (False, "Paused")

"""``podling why`` for ContainerRecreateRequests, on virtual time."""

from __future__ import annotations

from pathlib import Path

from podling.cli.evidence import Explanation, PartProblems
from podling.cli.workloads.extension_kinds import kind_of, why_extended
from podling_kruise.extension import KruiseExtension
from tests.support.clone_sets import Kruise, kruise_cluster
from tests.support.kubelet_node import pod
from tests.support.recreate_requests import recreate


async def ask(kruise: Kruise, kind: str, name: str = "web") -> Explanation:
    found = kind_of([KruiseExtension()], kind)
    assert found is not None
    return await why_extended(kruise.plane.client, found, name, "default", PartProblems())


async def test_request_waits_then_is_well(tmp_path: Path) -> None:
    async with kruise_cluster(tmp_path) as kruise:
        await kruise.node.create(pod())
        await kruise.wait(10)
        await kruise.client.create(recreate(strategy={"unreadyGracePeriodSeconds": 30}))
        await kruise.wait(10)
        waiting = await ask(kruise, "containerrecreaterequest", "again")
        await kruise.wait(60)
        done = await ask(kruise, "containerrecreaterequest", "again")
    assert (waiting.healthy, waiting.reason) == (False, "UnreadyGracePeriod")
    assert (done.healthy, done.reason) == (True, "Completed")


async def test_request_that_its_deadline_ended_says_so(tmp_path: Path) -> None:
    async with kruise_cluster(tmp_path) as kruise:
        await kruise.node.create(pod(script={"ignoresSignals": True}))
        await kruise.wait(10)
        long = {"terminationGracePeriodSeconds": 600}
        await kruise.client.create(recreate(strategy=long, activeDeadlineSeconds=20))
        await kruise.wait(30)
        found = await ask(kruise, "containerrecreaterequest", "again")
    assert found.reason == "Ended"
    assert "recreating has exceeded the activeDeadlineSeconds" in found.text

"""``examples/kruise/advancedcronjob.yaml``: the manifest does what its text says."""

from __future__ import annotations

from pathlib import Path

import yaml

from podling.api.core_v1 import Pod
from podling_kruise.advancedcronjob.job_plan import SCHEDULED_AT
from podling_kruise.broadcastjob.types import BroadcastJob
from tests.support.clone_sets import Kruise, kruise_cluster
from tests.support.node_objects import add_node
from tests.support.sidecar_sets import create

EXAMPLE = Path(__file__).parents[4] / "examples" / "kruise" / "advancedcronjob.yaml"
DAY = 24 * 3600.0


async def runs(kruise: Kruise) -> list[tuple[str, str]]:
    """Return the time and the phase of each job that there is."""
    found = (await kruise.client.list(BroadcastJob, "default")).items
    return sorted((job.metadata.annotations[SCHEDULED_AT], job.status.phase) for job in found)


async def finish_pods(kruise: Kruise) -> None:
    for pod in (await kruise.client.list(Pod, "default")).items:
        patch = {"status": {"phase": "Succeeded"}}
        await kruise.client.patch(Pod, pod.metadata.name or "", patch, "default", subresource="status")
    await kruise.wait(5)


async def test_example_runs_each_morning_and_keeps_one_successful_job(tmp_path: Path) -> None:
    plain = yaml.safe_load(EXAMPLE.read_text())
    plain["metadata"]["namespace"] = "default"
    async with kruise_cluster(tmp_path) as kruise:
        await add_node(kruise.client, "a")
        await create(kruise, plain)
        await kruise.wait(DAY)
        assert [(time[11:], phase) for time, phase in await runs(kruise)] == [("22:30:00Z", "running")]
        await kruise.wait(DAY)
        ((second, phase),) = await runs(kruise)
        assert (second[11:], phase) == ("22:30:00Z", "running"), "the first run was replaced"
        await finish_pods(kruise)
        assert await runs(kruise) == [(second, "completed")]
        await kruise.wait(DAY)
        await finish_pods(kruise)
        ((third, phase),) = await runs(kruise)
        assert (third > second, phase) == (True, "completed")

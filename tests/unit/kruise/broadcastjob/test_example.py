"""``examples/kruise/broadcastjob.yaml``: the manifest does what its text says."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from podling.api.core_v1 import Pod
from podling.machinery.errors import ApiError, is_not_found
from podling_kruise.broadcastjob.types import BroadcastJob
from tests.support.clone_sets import Kruise, kruise_cluster
from tests.support.node_objects import add_node
from tests.support.sidecar_sets import create

EXAMPLE = Path(__file__).parents[4] / "examples" / "kruise" / "broadcastjob.yaml"


async def finish_pods(kruise: Kruise) -> int:
    """Let all pods of the job succeed that have not yet; return their number."""
    found = (await kruise.client.list(Pod, "default", label_selector="broadcastjob-name=disk-usage")).items
    left = [pod for pod in found if pod.status.phase != "Succeeded"]
    status = {"status": {"phase": "Succeeded"}}
    for pod in left:
        await kruise.client.patch(Pod, pod.metadata.name or "", status, "default", subresource="status")
    await kruise.wait(5)
    return len(left)


async def test_example_runs_on_two_nodes_at_a_time_and_is_deleted_later(tmp_path: Path) -> None:
    plain = yaml.safe_load(EXAMPLE.read_text())
    plain["metadata"]["namespace"] = "default"
    async with kruise_cluster(tmp_path) as kruise:
        for name in ("a", "b", "c"):
            await add_node(kruise.client, name)
        await create(kruise, plain)
        await kruise.wait(5)
        assert [await finish_pods(kruise) for _ in range(2)] == [2, 1]
        job = await kruise.client.get(BroadcastJob, "disk-usage", "default")
        assert (job.status.phase, job.status.succeeded) == ("completed", 3)
        await kruise.wait(620)
        with pytest.raises(ApiError) as gone:
            await kruise.client.get(BroadcastJob, "disk-usage", "default")
        assert is_not_found(gone.value)

"""``examples/kruise/podunavailablebudget.yaml`` does what its text says, on a simulated node."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from podling.api.apps_v1 import Deployment
from podling.api.core_v1 import Pod
from podling.controllers.workloads.deployment import DeploymentController
from podling.controllers.workloads.replicaset import ReplicaSetController
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling.testing import running
from tests.support.budgets import numbers_of
from tests.support.clone_sets import kruise_cluster
from tests.support.kubelet_node import NODE
from tests.support.sidecar_sets import create

EXAMPLE = Path(__file__).parents[4] / "examples" / "kruise" / "podunavailablebudget.yaml"


async def test_example_lets_one_pod_go_at_a_time(tmp_path: Path) -> None:
    owner, plain = yaml.safe_load_all(EXAMPLE.read_text())
    for each in (owner, plain):
        each["metadata"]["namespace"] = "default"
    plain["spec"]["template"]["spec"]["nodeName"] = NODE
    async with (
        kruise_cluster(tmp_path) as kruise,
        running(kruise.plane.client, DeploymentController, ReplicaSetController),
    ):
        await create(kruise, owner)
        await kruise.client.create(codec.from_plain(plain, Deployment))
        await kruise.wait()
        assert await numbers_of(kruise.client) == (1, 3, 2, 3)
        first, second, _ = await kruise.pods()
        await kruise.client.delete(Pod, first.metadata.name or "", "default")
        with pytest.raises(ApiError, match="pub unavailable allowed is negative"):
            await kruise.client.delete(Pod, second.metadata.name or "", "default")
        await kruise.wait()
        assert await numbers_of(kruise.client) == (1, 3, 2, 3)
        await kruise.client.delete(Pod, second.metadata.name or "", "default")

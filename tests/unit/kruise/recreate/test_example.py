"""``examples/kruise/container-recreate.yaml``: the manifest does what its text says."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import yaml

from podling.api.core_v1 import Pod
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError, is_not_found
from podling_kruise.recreate.types import ContainerRecreateRequest
from tests.support.clone_sets import kruise_cluster
from tests.support.kubelet_node import NODE
from tests.support.recreate_requests import request_of, states, statuses

EXAMPLE = Path(__file__).parents[4] / "examples" / "kruise" / "container-recreate.yaml"
REQUEST = "restart-application"


async def test_example_recreates_the_application_alone(tmp_path: Path) -> None:
    pod, request = yaml.safe_load_all(EXAMPLE.read_text())
    for each in (pod, request):
        each["metadata"]["namespace"] = "default"
    pod["spec"]["nodeName"] = NODE
    async with kruise_cluster(tmp_path) as kruise:
        made = codec.from_plain(request, ContainerRecreateRequest)
        await kruise.node.create(msgspec.convert(pod, Pod))
        with pytest.raises(ApiError, match="not found application containerStatus in Pod Status"):
            await kruise.client.create(made)
        await kruise.wait(10)
        await kruise.client.create(made)
        await kruise.wait(20)
        assert states(await request_of(kruise, REQUEST)) == {"application": ("Succeeded", True)}
        restarts = {
            name: each.restart_count for name, each in statuses(await kruise.node.get("served")).items()
        }
        assert restarts == {"application": 1, "proxy": 0}
        await kruise.wait(1900)
        with pytest.raises(ApiError) as gone:
            await request_of(kruise, REQUEST)
        assert is_not_found(gone.value)

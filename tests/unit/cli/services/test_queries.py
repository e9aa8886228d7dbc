"""The facts about Services, collected from an API server in memory."""

from __future__ import annotations

import msgspec
import pytest

from podling.api.apps_v1 import Deployment
from podling.api.core_v1 import Service, ServicePort, ServiceSpec
from podling.api.meta_v1 import ObjectMeta
from podling.cli.common_options import NoAnswer
from podling.cli.evidence import Explanation
from podling.cli.queries import why
from podling.controllers.endpoints.endpointslice import EndpointSliceController
from podling.testing import ControlPlane
from tests.support.control_loops import add_node, pod, running, set_phase


async def service(cluster: ControlPlane, name: str = "web") -> None:
    spec = ServiceSpec(selector={"app": "web"}, ports=(ServicePort(port=80),))
    await cluster.client.create(Service(metadata=ObjectMeta(name=name, namespace="default"), spec=spec))


async def ask(cluster: ControlPlane, name: str = "web") -> Explanation:
    await cluster.advance(seconds=1)
    return await why(cluster.client, "service", name, "default")


async def test_service_is_explained_by_its_pods_until_one_is_ready(cluster: ControlPlane) -> None:
    await add_node(cluster.client, "n1")
    await service(cluster)
    async with running(cluster.client, EndpointSliceController):
        assert (await ask(cluster)).reason == "NoPods"
        await cluster.client.create(pod("near", node="n1", labels={"app": "wbe"}))
        assert "The nearest is pod near: it has app=wbe, not app=web." in (await ask(cluster)).text
        await cluster.client.create(pod("p", node="n1", labels={"app": "web"}))
        answer = await ask(cluster)
        assert answer.text.startswith("Service web has no Ready endpoint: 0 of its 1 pod are Ready.")
        assert "kubelet has not taken it up yet" in answer.text
        await set_phase(
            cluster.client, "p", "Running", ready=True, podIP="10.88.0.5", podIPs=[{"ip": "10.88.0.5"}]
        )
        answer = await ask(cluster)
        assert answer.healthy
        assert "1 Ready endpoint (10.88.0.5)" in answer.text


async def test_service_without_pods_is_explained_by_its_workload(cluster: ControlPlane) -> None:
    await service(cluster)
    plain = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    }
    await cluster.client.create(msgspec.convert(plain, Deployment))
    assert "Deployment web makes such pods, and is to have none now." in (await ask(cluster)).text


async def test_service_that_does_not_exist_has_near_names(cluster: ControlPlane) -> None:
    await service(cluster)
    with pytest.raises(NoAnswer, match="Is web meant"):
        await ask(cluster, "webb")

"""``/flagz`` and ``/statusz`` of the kubelet."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from podling.api.core_v1 import Taint
from podling.kubelet.config import KubeletConfig
from podling.kubelet.server.component_pages import flags_of, served_pages
from tests.unit.kubelet.server.served_kubelet import Served

FORM = "application/json;g=config.k8s.io;v=v1beta1;as=Statusz"


@pytest.mark.e2e
@pytest.mark.asyncio(loop_factories=["uvloop"])
async def test_kubelet_shows_status_and_flags_before_it_starts(kubelet: Served) -> None:
    get = kubelet.api_server.session.get
    async with get("/statusz", headers={"Accept": FORM}) as response:
        assert response.headers["Content-Type"] == "application/json"
        shown = json.loads(await response.text())
    assert shown["metadata"] == {"name": "kubelet"}
    assert shown["paths"] == ["/configz", "/flagz", "/healthz", "/metrics", "/statusz"]
    code, text = await kubelet.api_server.get("/flagz")
    assert code == 200
    assert text.startswith("\nkubelet flagz\nWarning: ")
    assert "\nregister-node=true\n" in text
    form = FORM.replace("v1beta1", "v1alpha1").replace("json", "yaml")
    async with get("/statusz", headers={"Accept": form}) as response:
        assert "deprecated" in response.headers["Warning"]
        assert yaml.safe_load(await response.text())["kind"] == "Statusz"
    async with get("/statusz", headers={"Accept": "application/json"}) as response:
        assert response.status == 406
        assert json.loads(await response.text())["reason"] == "NotAcceptable"


def test_pages_stand_behind_their_gates() -> None:
    assert served_pages(KubeletConfig()) == ("/flagz", "/statusz")
    assert served_pages(KubeletConfig(feature_gates={"ComponentFlagz": False})) == ("/statusz",)


def test_flags_are_those_of_the_options() -> None:
    config = KubeletConfig(
        feature_gates={"MemoryQoS": True, "ComponentFlagz": True},
        node_labels={"b": "2", "a": "1"},
        register_with_taints=(
            Taint(key="k", value="v", effect="NoSchedule"),
            Taint(key="l", effect="NoExecute"),
        ),
        node_addresses=("10.0.0.1", "fd00::1"),
        external_addresses=("1.2.3.4",),
        hostname="one",
        fail_swap_on=False,
        static_pod_path=Path("/x"),
    )
    assert flags_of(config) == {
        "fail-swap-on": "false",
        "feature-gates": "ComponentFlagz=true,MemoryQoS=true",
        "hostname-override": "one",
        "node-external-ip": "1.2.3.4",
        "node-ip": "10.0.0.1,fd00::1",
        "node-labels": "a=1,b=2",
        "node-status-update-frequency": "10s",
        "register-node": "true",
        "register-with-taints": "k=v:NoSchedule,l=:NoExecute",
    }

"""Admission of pods by their node, as tables."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Node, Pod
from podling.kubelet.config import KubeletConfig
from podling.kubelet.node.machine import Machine
from podling.kubelet.pods.admission import admit, occupant


def node(**labels: str) -> Node:
    plain = {
        "metadata": {"name": "node-1", "labels": {"kubernetes.io/os": "linux", **labels}},
        "status": {"allocatable": {"cpu": "2", "memory": "1Gi", "pods": "3", "example.com/gpu": "2"}},
    }
    return msgspec.convert(plain, Node)


def pod(cpu: str = "", **spec: Any) -> Pod:
    container: dict[str, Any] = {"name": "app"}
    if cpu:
        container["resources"] = {"requests": {"cpu": cpu}}
    containers = spec.pop("containers", [container])
    plain = {"metadata": {"name": "web"}, "spec": {"containers": containers, **spec}}
    return msgspec.convert(plain, Pod)


def port(number: int, **more: Any) -> list[dict[str, Any]]:
    return [{"name": "app", "ports": [{"containerPort": 1, "hostPort": number, **more}]}]


def affinity(**requirement: Any) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


@pytest.mark.parametrize(
    ("subject", "others", "reason"),
    [
        (pod(), [], None),
        (pod("2"), [], None),
        (pod("2"), [pod("100m")], "OutOfcpu"),
        (pod(), [pod(), pod(), pod()], "OutOfpods"),
        (
            pod(containers=[{"name": "a", "resources": {"requests": {"example.com/gpu": "3"}}}]),
            [],
            "OutOfexample.com/gpu",
        ),
        (pod(containers=[{"name": "a", "resources": {"requests": {"example.com/lic": "1"}}}]), [], None),
        (
            pod(containers=[{"name": "a", "resources": {"requests": {"hugepages-2Mi": "2Mi"}}}]),
            [],
            "OutOfhugepages-2Mi",
        ),
        (pod(nodeSelector={"disk": "ssd"}), [], None),
        (pod(nodeSelector={"disk": "tape"}), [], "NodeAffinity"),
        (pod(affinity=affinity(key="disk", operator="In", values=["ssd"])), [], None),
        (pod(affinity=affinity(key="disk", operator="DoesNotExist")), [], "NodeAffinity"),
        (pod(nodeName="node-2"), [], "NodeName"),
        (pod(containers=port(80)), [pod(containers=port(80))], "NodePorts"),
        (pod(containers=port(80)), [pod(containers=port(80, protocol="UDP"))], None),
        (pod(containers=port(80, hostIP="1.1.1.1")), [pod(containers=port(80, hostIP="1.1.1.2"))], None),
        (pod(containers=port(80, hostIP="1.1.1.1")), [pod(containers=port(80))], "NodePorts"),
        (pod(nodeSelector={"kubernetes.io/os": "windows"}), [], "PodOSSelectorNodeLabelDoesNotMatch"),
        (pod(os={"name": "windows"}), [], "PodOSNotSupported"),
        (
            pod(securityContext={"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}),
            [],
            "SysctlForbidden",
        ),
        (
            pod(securityContext={"sysctls": [{"name": "net.ipv4.tcp_syncookies", "value": "1"}]}),
            [],
            None,
        ),
    ],
)
def test_node_admits_or_rejects_with_reason(subject: Pod, others: list[Pod], reason: str | None) -> None:
    verdict = admit(
        subject, node(disk="ssd"), [occupant(other) for other in others], KubeletConfig(), Machine()
    )
    assert (verdict.reason if verdict is not None else None) == reason


@pytest.mark.parametrize(
    ("tolerations", "taken"),
    [
        ([], False),
        ([{"operator": "Exists"}], True),
        ([{"key": "down", "value": "now"}], True),
        ([{"key": "down", "value": "later"}], False),
        ([{"key": "down", "operator": "Exists", "effect": "NoSchedule"}], False),
    ],
)
def test_no_execute_taints_reject_pods(tolerations: list[dict[str, str]], taken: bool) -> None:
    taints = [{"key": "down", "value": "now", "effect": "NoExecute"}, {"key": "x", "effect": "NoSchedule"}]
    subject = msgspec.structs.replace(node(), spec=msgspec.convert({"taints": taints}, type(node().spec)))
    verdict = admit(pod(tolerations=tolerations), subject, [], KubeletConfig(), Machine())
    assert (verdict is None) == taken


def profile(kind: str) -> dict[str, Any]:
    more = {"localhostProfile": "web"} if kind == "Localhost" else {}
    return {"appArmorProfile": {"type": kind, **more}}


@pytest.mark.parametrize("kind", ["RuntimeDefault", "Localhost", "Unconfined"])
@pytest.mark.parametrize("enabled", [False, True])
@pytest.mark.parametrize("place", ["pod", "container", "init"])
def test_app_armor_profiles_need_a_kernel_that_enforces_them(kind: str, enabled: bool, place: str) -> None:
    wanted = profile(kind)
    spec: dict[str, Any] = {"containers": [{"name": "app"}]}
    if place == "pod":
        spec["securityContext"] = wanted
    else:
        where = "containers" if place == "container" else "initContainers"
        spec[where] = [{"name": "app" if place == "container" else "first", "securityContext": wanted}]
    verdict = admit(pod(**spec), node(), [], KubeletConfig(), Machine(app_armor=enabled))
    if enabled or kind == "Unconfined":
        assert verdict is None
    else:
        assert verdict is not None
        assert verdict.reason == "AppArmor"
        text = "Pod was rejected: Cannot enforce AppArmor: AppArmor is not enabled on the host"
        assert verdict.message == text


def test_pod_that_runs_is_not_checked_for_app_armor_again() -> None:
    running = msgspec.convert(
        {
            "spec": {"containers": [{"name": "app"}], "securityContext": profile("Localhost")},
            "status": {"phase": "Running"},
        },
        Pod,
    )
    assert admit(running, node(), [], KubeletConfig(), Machine()) is None

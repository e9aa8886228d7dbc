"""AppArmor and SELinux on this machine's kernel, and the machine's logs through the API server."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from podling.runtime.security_modules import default_labels, is_app_armor_enabled
from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import RealCluster, shell_pod

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.skipif(bool(missing_for_containers()), reason=missing_for_containers() or "can run"),
]

REFUSED = "Pod was rejected: Cannot enforce AppArmor: AppArmor is not enabled on the host"


def with_profile(name: str, kind: str) -> dict[str, Any]:
    profile = {"type": kind, **({"localhostProfile": "web"} if kind == "Localhost" else {})}
    context = {"securityContext": {"appArmorProfile": profile}}
    return shell_pod(name, "true", container=context, restartPolicy="Never")


@pytest.mark.skipif(is_app_armor_enabled(), reason="the kernel enforces AppArmor profiles")
def test_pods_that_need_app_armor_are_refused_where_the_kernel_has_none(cluster: RealCluster) -> None:
    kinds = ("RuntimeDefault", "Localhost", "Unconfined")
    pods = {kind: f"armour-{kind.lower()}" for kind in kinds}
    for kind, name in pods.items():
        cluster.apply(with_profile(name, kind))
    for kind, name in pods.items():
        phase = "Succeeded" if kind == "Unconfined" else "Failed"
        cluster.kubectl("wait", f"pod/{name}", f"--for=jsonpath={{.status.phase}}={phase}", "--timeout=60s")
        status = cluster.get("pod", name)["status"]
        if phase == "Failed":
            assert (status["reason"], status["message"]) == ("AppArmor", REFUSED)
    cluster.kubectl("delete", "pod", *pods.values(), "--grace-period=0", "--force")


@pytest.mark.skipif(default_labels() is not None, reason="the kernel has SELinux")
def test_label_has_no_effect_where_the_kernel_has_no_selinux(cluster: RealCluster) -> None:
    context = {"securityContext": {"seLinuxOptions": {"level": "s0:c1,c2"}}}
    cluster.apply(shell_pod("labelled", "true", container=context, restartPolicy="Never"))
    succeeded = "--for=jsonpath={.status.phase}=Succeeded"
    cluster.kubectl("wait", "pod/labelled", succeeded, "--timeout=60s")
    cluster.kubectl("delete", "pod", "labelled", "--grace-period=0", "--force")


def test_logs_of_the_machine_are_read_through_the_api_server(cluster: RealCluster) -> None:
    (node,) = cluster.get("nodes")["items"]
    path = f"/api/v1/nodes/{node['metadata']['name']}/proxy/logs"
    files = [name for name in os.listdir("/var/log") if Path("/var/log", name).is_file() and name.isalnum()]
    listing = cluster.kubectl("get", "--raw", f"{path}/")
    assert listing.startswith("<!doctype html>")
    for name in files[:3]:
        assert f">{name}</a>" in listing
    refused = cluster.try_kubectl("get", "--raw", f"{path}/no-such-log")
    assert refused.code != 0
    assert "404 page not found" in refused.err or "NotFound" in refused.err

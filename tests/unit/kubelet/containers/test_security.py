"""Privileges of containers, from both security contexts, as tables."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Pod
from podling.kubelet.config import KubeletConfig
from podling.kubelet.containers.security import container_security

CONFIG = KubeletConfig(cluster_dns=("10.96.0.10",))


def pod(*containers: dict[str, Any], name: str = "web", **spec: Any) -> Pod:
    plain = {
        "metadata": {"name": name, "namespace": "ns", "uid": "u-1"},
        "spec": {"containers": containers or [{"name": "app"}], **spec},
    }
    return msgspec.convert(plain, Pod)


def security(inner: dict[str, Any], outer: dict[str, Any] | None = None) -> Any:
    subject = pod({"name": "app", "securityContext": inner}, securityContext=outer or {})
    return container_security(subject, subject.spec.containers[0], CONFIG)


def test_container_security_context_overrides_the_pods() -> None:
    outer = {"runAsUser": 1, "runAsGroup": 2, "fsGroup": 3, "supplementalGroups": [4]}
    found = security({"runAsUser": 9}, outer)
    assert (found.user, found.group, found.supplemental_groups) == ("9", 2, (4, 3))


@pytest.mark.parametrize(
    ("inner", "seccomp"),
    [
        ({}, "unconfined"),
        ({"seccompProfile": {"type": "RuntimeDefault"}}, "runtime/default"),
        (
            {"seccompProfile": {"type": "Localhost", "localhostProfile": "a.json"}},
            "localhost//var/lib/kubelet/seccomp/a.json",
        ),
        ({"seccompProfile": {"type": "RuntimeDefault"}, "privileged": True}, "unconfined"),
    ],
)
def test_seccomp_profile_follows_security_context(inner: dict[str, Any], seccomp: str) -> None:
    assert security(inner).seccomp == seccomp


def test_proc_is_masked_unless_unmasked_or_privileged() -> None:
    assert "/proc/kcore" in security({}).masked_paths
    assert security({"procMount": "Unmasked"}).masked_paths == ()
    assert security({"privileged": True}).readonly_paths == ()
    assert security({"allowPrivilegeEscalation": False}).no_new_privileges

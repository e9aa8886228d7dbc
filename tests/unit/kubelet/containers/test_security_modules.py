"""AppArmor profiles and SELinux labels from both security contexts, as tables."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import PodSecurityContext, SecurityContext
from podling.kubelet.containers.security_modules import app_armor_profile, selinux_options
from podling.runtime.base import SelinuxOptions


def contexts(outer: dict[str, Any], inner: dict[str, Any]) -> tuple[PodSecurityContext, SecurityContext]:
    return msgspec.convert(outer, PodSecurityContext), msgspec.convert(inner, SecurityContext)


WEB = {"appArmorProfile": {"type": "Localhost", "localhostProfile": "web"}}
DEFAULT = {"appArmorProfile": {"type": "RuntimeDefault"}}
NONE = {"appArmorProfile": {"type": "Unconfined"}}


@pytest.mark.parametrize(
    ("outer", "inner", "expected"),
    [
        ({}, {}, ""),
        (WEB, {}, "localhost/web"),
        (WEB, DEFAULT, "runtime/default"),
        (DEFAULT, NONE, "unconfined"),
        ({}, WEB, "localhost/web"),
        (WEB, {"privileged": True}, ""),
    ],
)
def test_profile_of_the_container_comes_first(
    outer: dict[str, Any], inner: dict[str, Any], expected: str
) -> None:
    assert app_armor_profile(*contexts(outer, inner)) == expected


def test_label_of_the_container_replaces_the_pods() -> None:
    outer = {"seLinuxOptions": {"level": "s0:c1,c2", "type": "spc_t"}}
    assert selinux_options(*contexts({}, {})) is None
    assert selinux_options(*contexts(outer, {})) == SelinuxOptions(level="s0:c1,c2", type="spc_t")
    inner = {"seLinuxOptions": {"role": "system_r"}}
    assert selinux_options(*contexts(outer, inner)) == SelinuxOptions(role="system_r")
    assert selinux_options(*contexts(outer, {**inner, "privileged": True})) is None

"""AppArmor and SELinux on machines that are described as files below a directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.kubelet.node.machine import read_machine
from podling.runtime.base import RuntimeFailure, SelinuxOptions
from podling.runtime.security_modules import (
    SelinuxLabels,
    app_armor_profile,
    default_labels,
    is_app_armor_enabled,
    loaded_profiles,
    selinux_labels,
)

PROFILES = (
    "docker-default (enforce)\nweb (complain)\n/usr/sbin/ntpd (enforce)\n:ns://other (kill)\nbad line\n"
)
LABELS = SelinuxLabels("system_u:system_r:container_t:s0", "system_u:object_r:container_file_t:s0")


def machine(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("files", "enabled"),
    [
        ({}, False),
        ({"sys/module/apparmor/parameters/enabled": "Y\n"}, False),
        ({"sys/kernel/security/apparmor/profiles": ""}, False),
        (
            {
                "sys/module/apparmor/parameters/enabled": "N\n",
                "sys/kernel/security/apparmor/profiles": PROFILES,
            },
            False,
        ),
        (
            {
                "sys/module/apparmor/parameters/enabled": "Y\n",
                "sys/kernel/security/apparmor/profiles": PROFILES,
            },
            True,
        ),
    ],
)
def test_kernel_says_whether_it_has_app_armor(tmp_path: Path, files: dict[str, str], enabled: bool) -> None:
    root = machine(tmp_path, files)
    assert is_app_armor_enabled(root) == enabled
    expected = frozenset({"docker-default", "web", "/usr/sbin/ntpd", ":ns://other"}) if enabled else None
    assert loaded_profiles(root) == expected


@pytest.mark.parametrize(
    ("wanted", "loaded", "expected"),
    [
        ("", None, ""),
        ("unconfined", None, ""),
        ("unconfined", {"web"}, ""),
        ("runtime/default", {"web", "docker-default"}, "docker-default"),
        ("runtime/default", {"docker-default", "cri-containerd.apparmor.d"}, "cri-containerd.apparmor.d"),
        ("localhost/web", {"web"}, "web"),
        ("localhost//usr/sbin/ntpd", {"/usr/sbin/ntpd"}, "/usr/sbin/ntpd"),
    ],
)
def test_profile_is_one_that_is_loaded(wanted: str, loaded: set[str] | None, expected: str) -> None:
    assert app_armor_profile(wanted, loaded) == expected


@pytest.mark.parametrize(
    ("wanted", "loaded", "message"),
    [
        ("localhost/web", None, "apparmor is not supported"),
        ("runtime/default", None, "apparmor is not supported"),
        ("localhost/other", {"web"}, "apparmor profile not found other"),
        ("runtime/default", {"web"}, "none of the default AppArmor profiles loaded"),
        ("web", {"web"}, 'invalid apparmor profile "web"'),
    ],
)
def test_profile_that_cannot_be_enforced_is_an_error(
    wanted: str, loaded: set[str] | None, message: str
) -> None:
    with pytest.raises(RuntimeFailure, match=message):
        app_armor_profile(wanted, loaded)


def test_labels_of_containers_are_those_of_the_policy(tmp_path: Path) -> None:
    assert default_labels(tmp_path) is None
    root = machine(tmp_path, {"sys/fs/selinux/enforce": "1"})
    assert default_labels(root) == LABELS
    contexts = 'process = "system_u:system_r:svirt_t:s0"\nfile = "system_u:object_r:svirt_file_t:s0"\n'
    machine(
        root,
        {
            "etc/selinux/config": "# comment\nSELINUX=enforcing\nSELINUXTYPE=mls # why\n",
            "etc/selinux/mls/contexts/lxc_contexts": contexts,
        },
    )
    expected = SelinuxLabels("system_u:system_r:svirt_t:s0", "system_u:object_r:svirt_file_t:s0")
    assert default_labels(root) == expected


@pytest.mark.parametrize(
    ("wanted", "process", "mount"),
    [
        (SelinuxOptions(), LABELS.process, LABELS.mount),
        (
            SelinuxOptions(level="s0:c1,c2"),
            "system_u:system_r:container_t:s0:c1,c2",
            "system_u:object_r:container_file_t:s0:c1,c2",
        ),
        (SelinuxOptions(type="spc_t", role="r"), "system_u:r:spc_t:s0", LABELS.mount),
        (SelinuxOptions(user="u"), "u:system_r:container_t:s0", "u:object_r:container_file_t:s0"),
    ],
)
def test_options_change_the_label(wanted: SelinuxOptions, process: str, mount: str) -> None:
    assert selinux_labels(wanted, LABELS) == SelinuxLabels(process, mount)


def test_without_options_or_selinux_there_is_no_label() -> None:
    assert selinux_labels(None, LABELS) is None
    assert selinux_labels(SelinuxOptions(level="s0"), None) is None


def test_fact_about_this_machine_is_read(tmp_path: Path) -> None:
    switch = Path("/sys/module/apparmor/parameters/enabled")
    enabled = switch.exists() and switch.read_text().startswith("Y")
    assert is_app_armor_enabled() in (enabled, False)
    assert read_machine(tmp_path).app_armor == is_app_armor_enabled()

"""The look at the machine's kernel; machines described as files: ``oci/test_security_modules``."""

from __future__ import annotations

from pathlib import Path

from podling.kubelet.node.machine import read_machine
from podling.runtime.app_armor import is_app_armor_enabled


def test_fact_about_this_machine_is_read(tmp_path: Path) -> None:
    switch = Path("/sys/module/apparmor/parameters/enabled")
    enabled = switch.exists() and switch.read_text().startswith("Y")
    assert is_app_armor_enabled() in (enabled, False)
    assert read_machine(tmp_path).app_armor == is_app_armor_enabled()

"""Reads from the kernel that it enforces AppArmor profiles."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def is_app_armor_enabled(root: Path = Path("/")) -> bool:
    """Return whether the kernel below ``root`` enforces AppArmor profiles."""
    if not (root / "sys/kernel/security/apparmor").exists():
        return False
    with suppress(OSError):
        return (root / "sys/module/apparmor/parameters/enabled").read_text().startswith("Y")
    return False

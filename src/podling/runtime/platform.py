"""This machine's architecture, by the names that images use."""

from __future__ import annotations

import platform

_GO_NAMES = {
    "x86_64": "amd64",
    "aarch64": "arm64",
    "arm64": "arm64",
    "armv7l": "arm",
    "armv6l": "arm",
    "i686": "386",
    "loongarch64": "loong64",
}


def architecture() -> str:
    """``amd64``, ``arm64`` ...: Go's name for what ``uname -m`` says."""
    machine = platform.machine()
    return _GO_NAMES.get(machine, machine)

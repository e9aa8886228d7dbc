"""The names of the kernel's settings, and the namespaces that they belong to. Pure.

Upstream: ``component-helpers/node/util/sysctl``.
"""

from __future__ import annotations

_IPC = ("kernel.sem", "kernel.shm", "kernel.msg", "fs.mqueue.")


def dots_between_parts(name: str) -> str:
    """Return ``name`` with dots between its parts; with slashes between them, a dot belongs to a part."""
    separators = [character for character in name if character in "./"]
    if not separators or separators[0] == ".":
        return name
    return name.translate(str.maketrans("./", "/."))


def namespace_of(name: str) -> str:
    """Return the kind of namespace that keeps a setting (``Net``, ``IPC``); empty for the machine's own."""
    if name.startswith("net."):
        return "Net"
    return "IPC" if name.startswith(_IPC) else ""

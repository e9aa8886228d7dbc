"""Limits read from the machine's cgroup files, in the terms of version 1 on either version."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from podling.runtime.oci.cgroups import weight

ROOT = Path("/sys/fs/cgroup")
UNIFIED = (ROOT / "cgroup.controllers").exists()
UNLIMITED = 1 << 60


class Values(Struct, frozen=True):
    """A cgroup's limits; ``None`` for none. ``shares`` are CPU shares, or the weight of version 2."""

    shares: int
    quota: int | None = None
    memory: int | None = None
    processes: int | None = None


def shares(number: int) -> int:
    """Return the value that the kernel has for so many CPU shares."""
    return weight(number) if UNIFIED else number


def cgroup_of(uid: str) -> str:
    """Return the path of a pod's cgroup below the root of every hierarchy."""
    base = ROOT if UNIFIED else ROOT / "memory"
    found: list[Path] = []
    for cluster in base.glob("podling-*"):
        # Another test's cluster may end during the look.
        with suppress(FileNotFoundError):
            found += cluster.glob(f"**/pod{uid}")
    (only,) = found
    return f"/{only.relative_to(base)}"


def values(path: str) -> Values:
    """Return the limits of a cgroup."""
    if UNIFIED:
        quota = _read("", path, "cpu.max").split()[0]
        return Values(
            shares=int(_read("", path, "cpu.weight")),
            quota=_limit(quota),
            memory=_limit(_read("", path, "memory.max")),
            processes=_limit(_read("", path, "pids.max")),
        )
    return Values(
        shares=int(_read("cpu", path, "cpu.shares")),
        quota=_limit(_read("cpu", path, "cpu.cfs_quota_us")),
        memory=_limit(_read("memory", path, "memory.limit_in_bytes")),
        processes=_limit(_read("pids", path, "pids.max")),
    )


def _limit(text: str) -> int | None:
    number = -1 if text == "max" else int(text)
    return number if 0 <= number < UNLIMITED else None


def _read(controller: str, path: str, name: str) -> str:
    base = ROOT / controller if controller else ROOT
    return (base / path.lstrip("/") / name).read_text().strip()

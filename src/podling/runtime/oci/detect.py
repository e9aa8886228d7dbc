"""The OCI runtime that works on this machine, and why the other does not.

``gather`` reads the machine; ``choose`` is a pure decision over what it found, used at start and by
``podling doctor`` alike. crun is preferred: it starts a container two to three times as fast as runc.

crun refuses *hybrid* cgroups (version 1 controllers beside a version 2 hierarchy at
``/sys/fs/cgroup/unified``). It is then shown a private view of the machine in which that one
directory is covered by an empty file system, so it sees plain version 1, which is what does the
accounting there anyway; no other process is affected. Only where version 2 owns a controller that
containers need would that lose a limit, and then runc is used.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from enum import Enum
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

CGROUP_ROOT = Path("/sys/fs/cgroup")
NEEDED_CONTROLLERS = frozenset({"cpu", "memory", "pids"})
_USED_CONTROLLERS = frozenset({"cpu", "cpuset", "memory", "pids", "io", "devices", "freezer"})


class CgroupMode(Enum):
    UNIFIED = "v2"
    LEGACY = "v1"
    HYBRID = "hybrid"
    NONE = "none"


class Facts(Struct, frozen=True, kw_only=True):
    """The facts that the choice depends on. Programs are absolute paths, empty where not found."""

    root: bool
    mode: CgroupMode
    controllers: frozenset[str]
    """Controllers that can be used, of either version."""
    unified_controllers: frozenset[str] = frozenset()
    """In hybrid mode: those that the version 2 hierarchy owns."""
    overlay: bool = True
    crun: str = ""
    runc: str = ""
    conmon: str = ""
    nsenter: str = ""


class Engine(Struct, frozen=True, kw_only=True):
    """The programs to use and how."""

    name: str
    path: str
    conmon: str
    mode: CgroupMode
    hide_unified: bool = False
    """Show the runtime a machine without ``/sys/fs/cgroup/unified``."""
    nsenter: str = ""


class Choice(Struct, frozen=True, kw_only=True):
    """``engine`` is None when containers cannot be run here; ``why`` says so, one line a cause."""

    engine: Engine | None
    why: tuple[str, ...] = ()
    """Missing programs, and why an installed runtime is not used."""
    others: tuple[Engine, ...] = ()
    """The OCI runtimes that work, too; RuntimeClasses may name them."""


def choose(facts: Facts) -> Choice:
    """Decide which runtime to use. Never raises; ``why`` holds the reasons."""
    choice = _choose(facts)
    if choice.engine is None:
        return choice
    alone = [_choose(replace(facts, **{other: ""})).engine for other in ("crun", "runc")]
    others = [engine for engine in alone if engine is not None and engine.name != choice.engine.name]
    return replace(choice, others=tuple(others))


def _choose(facts: Facts) -> Choice:
    missing = _missing(facts)
    if missing:
        return Choice(engine=None, why=missing)
    why: list[str] = []
    hides = facts.mode is CgroupMode.HYBRID
    if not facts.crun:
        why.append("crun is not installed; it starts containers faster than runc")
    elif not hides:
        return Choice(engine=_engine(facts, "crun"), why=())
    else:
        lost = sorted(facts.unified_controllers & _USED_CONTROLLERS)
        if not lost and facts.nsenter:
            return Choice(engine=_engine(facts, "crun", hide=True))
        if lost:
            why.append(f"crun does not work with hybrid cgroups: version 2 owns {', '.join(lost)} here")
        else:
            why.append("crun does not work with hybrid cgroups unless nsenter (util-linux) is installed")
    if facts.runc:
        return Choice(engine=_engine(facts, "runc"), why=tuple(why))
    why.append("no usable OCI runtime: install crun or runc")
    return Choice(engine=None, why=tuple(why))


def _engine(facts: Facts, name: str, *, hide: bool = False) -> Engine:
    path = facts.crun if name == "crun" else facts.runc
    return Engine(
        name=name,
        path=path,
        conmon=facts.conmon,
        mode=facts.mode,
        hide_unified=hide,
        nsenter=facts.nsenter if hide else "",
    )


def _missing(facts: Facts) -> tuple[str, ...]:
    missing: list[str] = []
    if not facts.root:
        missing.append("real containers need root")
    if not facts.conmon:
        missing.append("conmon is not installed")
    if not facts.crun and not facts.runc:
        missing.append("neither crun nor runc is installed")
    if not facts.overlay:
        missing.append("the kernel has no overlay file system")
    if facts.mode is CgroupMode.NONE:
        missing.append("no cgroup hierarchy is mounted at /sys/fs/cgroup")
    else:
        lost = sorted(NEEDED_CONTROLLERS - facts.controllers)
        if lost:
            missing.append(f"the kernel or its boot options disable the cgroup controllers {', '.join(lost)}")
    return tuple(missing)


def gather(which: Callable[[str], str | None] = shutil.which, cgroup_root: Path = CGROUP_ROOT) -> Facts:
    """Read the facts from this machine."""
    mode = cgroup_mode(cgroup_root)
    unified = _unified_controllers(cgroup_root, mode)
    mounted = frozenset(_legacy_controllers(cgroup_root)) if mode is not CgroupMode.UNIFIED else frozenset()
    return Facts(
        root=os.geteuid() == 0,
        mode=mode,
        controllers=mounted | unified,
        unified_controllers=unified if mode is CgroupMode.HYBRID else frozenset(),
        overlay=_has_overlay(),
        crun=which("crun") or "",
        runc=which("runc") or "",
        conmon=which("conmon") or "",
        nsenter=which("nsenter") or "",
    )


def cgroup_mode(root: Path = CGROUP_ROOT) -> CgroupMode:
    """Version 2 alone, version 1 alone, both side by side, or nothing."""
    if (root / "cgroup.controllers").exists():
        return CgroupMode.UNIFIED
    if not (root / "memory").is_dir():
        return CgroupMode.NONE
    return CgroupMode.HYBRID if (root / "unified" / "cgroup.controllers").exists() else CgroupMode.LEGACY


def _unified_controllers(root: Path, mode: CgroupMode) -> frozenset[str]:
    place = {CgroupMode.UNIFIED: root, CgroupMode.HYBRID: root / "unified"}.get(mode)
    return frozenset((place / "cgroup.controllers").read_text().split()) if place else frozenset()


def _legacy_controllers(root: Path) -> list[str]:
    return [name for entry in root.iterdir() if (entry / "tasks").exists() for name in entry.name.split(",")]


def _has_overlay() -> bool:
    text = Path("/proc/filesystems").read_text()
    return "\toverlay\n" in text or shutil.which("modprobe") is not None

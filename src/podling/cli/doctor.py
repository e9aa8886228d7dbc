"""``podling doctor``: what this machine can run, and what to do about what it cannot."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sys
from pathlib import Path

import click
from msgspec import Struct

from podling.cli.common_options import data_directory_option
from podling.cluster.directory import DataDirectory
from podling.network.services.kernel_features import Feature, kernel_accepts, missing_features
from podling.runtime.oci.detect import CgroupMode, Choice, Facts, choose, gather

LOW_DISK_BYTES = 2_000_000_000
SYSTEM_PATH = os.pathsep.join(("/usr/sbin", "/sbin"))


class Finding(Struct, frozen=True):
    """One line of the report: ``mark`` is ``ok``, ``note`` (works, but ...) or ``missing``."""

    mark: str
    subject: str
    text: str
    advice: str = ""


MARKS = {"ok": ("✓", "green"), "note": ("!", "yellow"), "missing": ("✗", "red")}


def find_program(name: str) -> str:
    """Return the absolute path of a program, the system directories included; empty if it is not here."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), SYSTEM_PATH))
    return shutil.which(name, path=path) or ""


@click.command()
@data_directory_option
@click.option("-q", "--quiet", is_flag=True, help="Print nothing; the exit code says whether containers run.")
def doctor(directory: DataDirectory, quiet: bool) -> None:
    """Say what this machine can run, and what to do about what it cannot.

    Exit code 0 when real containers can be run, 1 when only processes can.
    """
    facts = gather()
    choice = choose(facts)
    if not quiet:
        findings = diagnose(facts, choice, {name: find_program(name) for name in OPTIONAL})
        if choice.engine and find_program("nft"):
            findings.append(services())
        findings += [chain_finding(chain) for chain in foreign_chains()]
        for finding in [*findings, disk_space(directory.path, free_bytes(directory.path))]:
            _print(finding)
    raise SystemExit(0 if choice.engine else 1)


OPTIONAL = {
    "skopeo": ("images cannot be loaded or pulled", "apt-get install skopeo"),
    "nft": ("no hostPort and no way out for pods", "apt-get install nftables"),
}
"""Programs that something needs but a first pod does not: what is lost, and how to get it."""


def diagnose(facts: Facts, choice: Choice, programs: dict[str, str]) -> list[Finding]:
    """Return the whole report, from facts alone. ``programs`` maps optional programs to their paths."""
    findings = [
        Finding(
            "ok",
            "machine",
            f"{platform.system()} {platform.release()} on {platform.machine()}, Python "
            f"{sys.version_info.major}.{sys.version_info.minor}",
        ),
        _root(facts),
        _cgroups(facts),
    ]
    if choice.engine:
        findings.append(
            Finding("ok", "oci runtime", f"real containers run with {choice.engine.path} and conmon")
        )
        findings += [Finding("note", "oci runtime", why) for why in choice.why]
    else:
        findings += [Finding("missing", "oci runtime", why, _advice(why)) for why in choice.why]
        findings.append(
            Finding("ok", "process runtime", "pods run as plain processes; nothing isolates them")
        )
    for name, (loss, advice) in OPTIONAL.items():
        if programs[name]:
            findings.append(Finding("ok", name, programs[name]))
        else:
            findings.append(Finding("missing", name, f"not installed: {loss}", advice))
    return findings


def services() -> Finding:
    """Return whether the kernel can forward connections to Services. Needs root and ``nft``."""
    try:
        missing = missing_features(kernel_accepts)
    except OSError as error:
        return Finding("note", "services", f"the kernel cannot be examined: {error}")
    return forwarding(missing)


def forwarding(missing: list[Feature]) -> Finding:
    if not missing:
        return Finding("ok", "services", "the kernel has what forwards connections to Services")
    names, modules = (", ".join(each) for each in zip(*((f.name, f.module) for f in missing), strict=True))
    text = f"the kernel's nftables lacks {names}: nothing forwards connections to Services"
    return Finding("missing", "services", text, f"load or build the kernel modules {modules}")


def free_bytes(path: Path) -> int:
    """Free space where ``path`` is or would be."""
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free


def disk_space(path: Path, free: int) -> Finding:
    """Return whether the data directory has space for images and containers."""
    text = f"{path}, {free / 1e9:.1f} GB free"
    if free < LOW_DISK_BYTES:
        return Finding("note", "data directory", text, "make room, or name another --data-dir")
    return Finding("ok", "data directory", text)


def foreign_chains() -> list[str]:
    """Return the chains of other programs that drop what pods send each other; empty without root or nft."""
    from podling.network.foreign_firewalls import blocking_chains
    from podling.runtime.base import RuntimeFailure

    if os.geteuid() != 0 or not find_program("nft"):
        return []
    try:
        return [str(chain) for chain in asyncio.run(blocking_chains(("pl-",)))]
    except RuntimeFailure:
        return []


def chain_finding(chain: str) -> Finding:
    """Return the note about a chain that drops forwarded packets."""
    text = f"the chain {chain} drops forwarded packets, those of pods among them"
    return Finding("note", "firewall", text, 'let it accept packets from and to interfaces "pl-*"')


def _root(facts: Facts) -> Finding:
    if facts.root:
        return Finding("ok", "user", "root")
    return Finding("missing", "user", "not root: real containers need it", "sudo podling up")


def _cgroups(facts: Facts) -> Finding:
    controllers = ", ".join(sorted(facts.controllers)) or "none"
    if facts.mode is CgroupMode.NONE:
        return Finding("missing", "cgroups", "no hierarchy is mounted at /sys/fs/cgroup")
    if facts.mode is CgroupMode.HYBRID:
        owned = ", ".join(sorted(facts.unified_controllers)) or "nothing"
        text = (
            f"version 1 ({controllers}) beside a version 2 hierarchy that owns {owned}; crun refuses such a "
            "mix by itself, so it is shown the version 1 side alone, and runc takes it as it is"
        )
        return Finding("note", "cgroups", text)
    return Finding("ok", "cgroups", f"{facts.mode.value}: {controllers}")


def _advice(why: str) -> str:
    packages = [name for name in ("conmon", "crun", "runc") if name in why]
    return f"apt-get install {packages[0]}" if packages else ""


def _print(finding: Finding) -> None:
    sign, colour = MARKS[finding.mark]
    advice = f"  → {finding.advice}" if finding.advice else ""
    click.echo(f"{click.style(sign, fg=colour)} {finding.subject:<16} {finding.text}{advice}")

"""AppArmor and SELinux: what the machine has of them, and what a container gets of it.

Nothing is read for a container that specifies neither. Profiles of AppArmor are loaded by the machine's
administrator; ``runtime/default`` is the default profile of a container runtime that is installed here.
The label of a container follows SELinux' own defaults for containers (``lxc_contexts``), changed by the
options of the pod; files of volumes keep the labels that they have.
Upstream: ``internal/cri/server`` of containerd, ``go-selinux/label``.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from msgspec import Struct

from podling.runtime.failures import RuntimeFailure
from podling.runtime.values import SelinuxOptions

DEFAULT_PROFILES = ("cri-containerd.apparmor.d", "crio-default", "docker-default", "containers-default")
"""Default profiles of container runtimes; the first one that is loaded counts."""
_LOCALHOST = "localhost/"


class SelinuxLabels(Struct, frozen=True):
    """The label of a container's processes, and that of the file systems made for it."""

    process: str
    mount: str


def is_app_armor_enabled(root: Path = Path("/")) -> bool:
    """Return whether the kernel below ``root`` enforces AppArmor profiles."""
    if not (root / "sys/kernel/security/apparmor").exists():
        return False
    return _text(root / "sys/module/apparmor/parameters/enabled").startswith("Y")


def loaded_profiles(root: Path = Path("/")) -> frozenset[str] | None:
    """Return the names of the AppArmor profiles that are loaded; None without AppArmor."""
    if not is_app_armor_enabled(root):
        return None
    lines = _text(root / "sys/kernel/security/apparmor/profiles").splitlines()
    return frozenset(line[: line.rindex("(")].strip() for line in lines if "(" in line)


def app_armor_profile(wanted: str, loaded: Collection[str] | None) -> str:
    """Return the name of the profile for ``Security.app_armor``; empty for none. Pure.

    Raises ``RuntimeFailure`` if it cannot be enforced.
    """
    if wanted in ("", "unconfined"):
        return ""
    if loaded is None:
        raise RuntimeFailure("apparmor is not supported")
    if wanted == "runtime/default":
        found = next((name for name in DEFAULT_PROFILES if name in loaded), "")
        if not found:
            raise RuntimeFailure(
                f"the machine has none of the default AppArmor profiles loaded: {', '.join(DEFAULT_PROFILES)}"
            )
        return found
    if not wanted.startswith(_LOCALHOST):
        raise RuntimeFailure(f'invalid apparmor profile "{wanted}"')
    name = wanted.removeprefix(_LOCALHOST)
    if name not in loaded:
        raise RuntimeFailure(f"apparmor profile not found {name}")
    return name


def default_labels(root: Path = Path("/")) -> SelinuxLabels | None:
    """Return the labels that the machine's policy has for containers; None without SELinux."""
    if not (root / "sys/fs/selinux/enforce").exists():
        return None
    policy = _settings(root / "etc/selinux/config").get("SELINUXTYPE", "targeted")
    found = _settings(root / "etc/selinux" / policy / "contexts/lxc_contexts")
    process = found.get("process", "system_u:system_r:container_t:s0")
    return SelinuxLabels(process, found.get("file", "system_u:object_r:container_file_t:s0"))


def selinux_labels(wanted: SelinuxOptions | None, defaults: SelinuxLabels | None) -> SelinuxLabels | None:
    """Return the labels of a container; None without options or without SELinux. Pure.

    Role and type are the processes' alone; user and level are also those of the files (``InitLabels``).
    """
    if wanted is None or defaults is None:
        return None
    both = {"user": wanted.user, "level": wanted.level}
    own = {**both, "role": wanted.role, "type": wanted.type}
    return SelinuxLabels(_changed(defaults.process, own), _changed(defaults.mount, both))


def _changed(label: str, parts: dict[str, str]) -> str:
    names = ("user", "role", "type", "level")
    old = dict(zip(names, label.split(":", 3), strict=False))
    new = {name: parts.get(name) or old.get(name, "") for name in names}
    return ":".join(part for part in new.values() if part)


def _settings(path: Path) -> dict[str, str]:
    """Return the assignments of a file, without quotes."""
    pairs = (line.split("#")[0].partition("=") for line in _text(path).splitlines())
    return {name.strip(): value.strip().strip('"') for name, sign, value in pairs if sign}


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""

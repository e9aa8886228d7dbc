"""From a pod's wishes and an image's configuration to the OCI runtime's ``config.json``. Pure.

Everything that had to be looked up (the user, the seccomp profile, the machine's devices and
capabilities) comes in through ``Inputs``, so the same inputs give the same configuration, byte for byte.
What containers see by default follows the OCI runtime specification and the CRI's conventions.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from podling.runtime.base import (
    ContainerSpec,
    IdRange,
    LinuxResources,
    Mount,
    MountPropagation,
    RuntimeFailure,
)
from podling.runtime.images.records import ImageContent
from podling.runtime.oci.host_files import place_of
from podling.runtime.oci.seccomp_compile import ANNOTATION as COMPILED_FILTER
from podling.runtime.oci.users import User
from podling.runtime.security_modules import SelinuxLabels
from podling.runtime.values import SWAP_MAX

DEFAULT_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
DEFAULT_STOP_SIGNAL = "SIGTERM"

_PROPAGATION = {
    MountPropagation.NONE: "rprivate",
    MountPropagation.HOST_TO_CONTAINER: "rslave",
    MountPropagation.BIDIRECTIONAL: "rshared",
}
_DEVICES_ALLOWED: tuple[tuple[str, int | None, int | None, str], ...] = (
    ("c", None, None, "m"),
    ("b", None, None, "m"),
    ("c", 1, 3, "rwm"),
    ("c", 1, 8, "rwm"),
    ("c", 1, 7, "rwm"),
    ("c", 5, 0, "rwm"),
    ("c", 1, 5, "rwm"),
    ("c", 1, 9, "rwm"),
    ("c", 5, 1, "rwm"),
    ("c", 136, None, "rwm"),
    ("c", 5, 2, "rwm"),
)
"""Making any device node, and using null, random, full, tty, zero, urandom, console, pts and ptmx."""


class Device(Struct, frozen=True, kw_only=True):
    """A device node of the machine: of a privileged container, or a block volume.

    ``access`` is what a container that is not privileged may do with it.
    """

    path: str
    kind: str
    major: int
    minor: int
    mode: int
    uid: int = 0
    gid: int = 0
    access: str = ""


class Inputs(Struct, frozen=True, kw_only=True):
    """Everything the configuration is made from."""

    spec: ContainerSpec
    image: ImageContent
    user: User
    capabilities: tuple[str, ...]
    rootfs: Path
    state: Path
    """The runtime's own directory, in which the machine's directories are mounted for containers."""
    cgroup: str
    namespaces: Mapping[str, str]
    """The namespaces that the container joins: OCI type to path; ``host`` instead of a path shares the
    node's. Other types are created."""
    hostname: str
    shm: Path
    hostname_file: Path | None = None
    extra_mounts: tuple[Mount, ...] = ()
    """The image's volumes and directories; the pod's own mounts win over them."""
    seccomp: Mapping[str, Any] | None = None
    seccomp_filter: str = ""
    """The profile compiled, for an OCI runtime that takes it so."""
    cpu_counters: tuple[str, ...] = ()
    """Paths of the machine that are masked where any are."""
    users: IdRange | None = None
    """The users of a pod with a user namespace."""
    kept_options: Mapping[str, tuple[str, ...]] = {}
    """The options of mounts, by path on the node, that a user namespace may not take away."""
    devices: tuple[Device, ...] = ()
    unified_cgroups: bool = False
    huge_page_cgroups: bool = False
    """True if version 1 of cgroups limits huge pages here: its controller ``hugetlb`` is mounted."""
    app_armor: str = ""
    """The AppArmor profile; empty for none."""
    selinux: SelinuxLabels | None = None
    oom_score_adj: int | None = None
    open_files: tuple[int, int] | None = None
    """The soft and the hard limit of open files; None leaves them as they are."""


def process_arguments(spec: ContainerSpec, image: ImageContent) -> tuple[str, ...]:
    """Return the command line: the pod's command replaces the image's entrypoint *and* cmd, its args the cmd
    only.

    Raises ``RuntimeFailure`` when both are empty.
    """
    entrypoint = tuple(image.config.entrypoint or ())
    cmd = tuple(image.config.cmd or ())
    if spec.command:
        return (*spec.command, *spec.args)
    arguments = (*entrypoint, *(spec.args or cmd))
    if not arguments:
        raise RuntimeFailure("no command specified")
    return arguments


def environment(spec: ContainerSpec, image: ImageContent, hostname: str) -> list[str]:
    """Return the image's variables under the pod's; the last one of a name wins and keeps its place."""
    merged: dict[str, str] = {}
    for entry in (DEFAULT_PATH, f"HOSTNAME={hostname}", *(image.config.env or ())):
        name, _, value = entry.partition("=")
        merged[name] = value
    if spec.tty:
        merged["TERM"] = "xterm"
    merged.update(spec.env)
    return [f"{name}={value}" for name, value in merged.items()]


def working_directory(spec: ContainerSpec, image: ImageContent) -> str:
    return spec.working_dir or image.config.working_dir or "/"


def stop_signal(spec: ContainerSpec, image: ImageContent) -> str:
    return spec.stop_signal or image.config.stop_signal or DEFAULT_STOP_SIGNAL


def oci_config(inputs: Inputs) -> dict[str, Any]:
    """Return the whole ``config.json``."""
    spec, security = inputs.spec, inputs.spec.security
    config: dict[str, Any] = {
        "ociVersion": "1.0.2",
        "process": _process(inputs),
        "root": {"path": str(inputs.rootfs), "readonly": security.read_only_rootfs},
        "mounts": _mounts(inputs),
        "annotations": {},  # the pod's could steer the OCI runtime
        "linux": {
            "cgroupsPath": inputs.cgroup,
            "namespaces": _namespaces(inputs.namespaces, private_cgroup=inputs.unified_cgroups),
            "resources": _resources(inputs),
            "maskedPaths": _masked_paths(inputs),
            "readonlyPaths": [] if security.privileged else list(security.readonly_paths),
            "rootfsPropagation": _rootfs_propagation(spec.mounts),
        },
    }
    if inputs.seccomp is not None and not security.privileged:
        config["linux"]["seccomp"] = dict(inputs.seccomp)
        if inputs.seccomp_filter:
            config["annotations"][COMPILED_FILTER] = inputs.seccomp_filter
    if inputs.users is not None:
        config["linux"] |= id_mappings(inputs.users)
    if inputs.selinux is not None:
        config["process"]["selinuxLabel"] = inputs.selinux.process
        config["linux"]["mountLabel"] = inputs.selinux.mount
    if inputs.devices:
        config["linux"]["devices"] = [_device(device) for device in inputs.devices]
    return config


def id_mappings(users: IdRange) -> dict[str, Any]:
    """Return the part of ``linux`` that describes a user namespace."""
    mapping = [{"containerID": 0, "hostID": users.first, "size": users.count}]
    return {"uidMappings": mapping, "gidMappings": mapping}


def _masked_paths(inputs: Inputs) -> list[str]:
    security = inputs.spec.security
    if security.privileged or not security.masked_paths:
        return []
    return [*security.masked_paths, *inputs.cpu_counters]


def _process(inputs: Inputs) -> dict[str, Any]:
    spec = inputs.spec
    names = list(inputs.capabilities)
    process: dict[str, Any] = {
        "terminal": spec.tty,
        "user": {
            "uid": inputs.user.uid,
            "gid": inputs.user.gid,
            "additionalGids": list(inputs.user.groups),
        },
        "args": list(process_arguments(spec, inputs.image)),
        "env": environment(spec, inputs.image, inputs.hostname),
        "cwd": working_directory(spec, inputs.image),
        "capabilities": {"bounding": names, "effective": names, "permitted": names},
        "noNewPrivileges": spec.security.no_new_privileges,
    }
    if inputs.oom_score_adj is not None:
        process["oomScoreAdj"] = inputs.oom_score_adj
    if inputs.app_armor:
        process["apparmorProfile"] = inputs.app_armor
    if inputs.open_files is not None:
        soft, hard = inputs.open_files
        process["rlimits"] = [{"type": "RLIMIT_NOFILE", "soft": soft, "hard": hard}]
    return process


def _namespaces(joined: Mapping[str, str], *, private_cgroup: bool) -> list[dict[str, str]]:
    """Mounts are always the container's own. With version 1 cgroups the node's cgroup namespace stays:
    each controller's directory is bound into the container instead."""
    users = ["user"] if "user" in joined else []
    kinds = [*users, "pid", "network", "ipc", "uts", "mount"] + (["cgroup"] if private_cgroup else [])
    result = []
    for kind in kinds:
        path = joined.get(kind, "")
        if path != "host":
            result.append({"type": kind} | ({"path": path} if path else {}))
    return result


def _mounts(inputs: Inputs) -> list[dict[str, Any]]:
    """The defaults, then the image's volumes, then the pod's; a later one replaces one at its place."""
    privileged = inputs.spec.security.privileged
    read = "rw" if privileged else "ro"
    strict = ["nosuid", "noexec", "nodev"]
    mounts = [
        _mount("/proc", "proc", "proc", strict),
        _mount("/dev", "tmpfs", "tmpfs", ["nosuid", "strictatime", "mode=755", "size=65536k"]),
        _mount(
            "/dev/pts",
            "devpts",
            "devpts",
            ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"],
        ),
        _mount("/dev/mqueue", "mqueue", "mqueue", strict),
        _mount("/sys", "sysfs", "sysfs", [*strict, read]),
        _mount("/sys/fs/cgroup", "cgroup", "cgroup", [*strict, "relatime", read]),
        _mount("/dev/shm", "bind", str(inputs.shm), ["rbind", "rprivate", "nosuid", "noexec", "nodev", "rw"]),
    ]
    if inputs.hostname_file is not None:
        source = str(inputs.hostname_file)
        mounts.append(_mount("/etc/hostname", "bind", source, ["rbind", "rprivate", "rw"]))
    for mount in (*image_binds(inputs.image, inputs.state), *inputs.extra_mounts, *inputs.spec.mounts):
        place = _clean(mount.container_path)
        mounts = [earlier for earlier in mounts if earlier["destination"] != place]
        mounts.append(_bind(mount, inputs.kept_options.get(mount.host_path, ())))
    return mounts


def image_binds(image: ImageContent, state: Path) -> tuple[Mount, ...]:
    """Return the machine's directories that an image shows."""
    return tuple(
        Mount(container_path=path, host_path=str(place_of(state, path)), read_only=True)
        for path in image.binds
    )


def _mount(destination: str, kind: str, source: str, options: list[str]) -> dict[str, Any]:
    return {"destination": destination, "type": kind, "source": source, "options": options}


def _bind(mount: Mount, kept: tuple[str, ...]) -> dict[str, Any]:
    read_only = mount.read_only or "ro" in kept
    options = ["rbind", _PROPAGATION[mount.propagation], "ro" if read_only else "rw"]
    if mount.recursive_read_only:
        options[-1] = "rro"
    options += [option for option in kept if option != "ro"]
    return _mount(_clean(mount.container_path), "bind", mount.host_path, options)


def _clean(path: str) -> str:
    return "/" + "/".join(part for part in path.split("/") if part not in ("", "."))


def _rootfs_propagation(mounts: tuple[Mount, ...]) -> str:
    """Mounts pass into or out of the container only if its root lets them."""
    kinds = {mount.propagation for mount in mounts}
    if MountPropagation.BIDIRECTIONAL in kinds:
        return "rshared"
    return "rslave" if MountPropagation.HOST_TO_CONTAINER in kinds else "rprivate"


def _resources(inputs: Inputs) -> dict[str, Any]:
    rules: list[dict[str, Any]]
    if inputs.spec.security.privileged:
        rules = [{"allow": True, "access": "rwm"}]
    else:
        rules = [{"allow": False, "access": "rwm"}]
        rules.extend(_device_rule(*rule) for rule in _DEVICES_ALLOWED)
        rules.extend(_device_rule(each.kind, each.major, each.minor, each.access) for each in inputs.devices)
    limits = inputs.spec.resources
    if inputs.unified_cgroups:
        return {"devices": rules, **linux_resources(limits)}
    without_swap = SWAP_MAX in limits.unified
    found = linux_resources(_for_version_1(limits))
    if without_swap and limits.memory_limit is None:
        # Version 1 limits swap only together with memory; this keeps the kernel from swapping at all.
        found["memory"] = {**found.get("memory", {}), "swappiness": 0}
    if inputs.huge_page_cgroups:
        found["hugepageLimits"] = _huge_page_limits(limits)
    return {"devices": rules, **found}


def _huge_page_limits(limits: LinuxResources) -> list[dict[str, Any]]:
    """Return the limits of huge pages for cgroup version 1, from those named as files of version 2."""
    files = ((name.split("."), number) for name, number in limits.unified.items())
    return [
        {"pageSize": parts[1], "limit": int(number)}
        for parts, number in files
        if parts[0] == "hugetlb" and parts[-1] == "max"
    ]


def _for_version_1(limits: LinuxResources) -> LinuxResources:
    """Return limits for cgroup version 1, where no container gets swap (``LimitedSwap`` needs version 2)."""
    if SWAP_MAX in limits.unified:
        return replace(limits, unified={}, memory_swap_limit=limits.memory_limit)
    return replace(limits, unified={})


def _device_rule(kind: str, major: int | None, minor: int | None, access: str) -> dict[str, Any]:
    rule: dict[str, Any] = {"allow": True, "type": kind, "access": access}
    if major is not None:
        rule["major"] = major
    if minor is not None:
        rule["minor"] = minor
    return rule


def linux_resources(resources: LinuxResources) -> dict[str, Any]:
    """``linux.resources`` for limits that are given; also what ``update`` takes."""
    cpu = {
        "shares": resources.cpu_shares,
        "quota": resources.cpu_quota,
        "period": resources.cpu_period,
        "cpus": resources.cpuset_cpus or None,
        "mems": resources.cpuset_mems or None,
    }
    memory = {"limit": resources.memory_limit, "swap": resources.memory_swap_limit}
    result: dict[str, Any] = {
        "cpu": {name: value for name, value in cpu.items() if value is not None},
        "memory": {name: value for name, value in memory.items() if value is not None},
    }
    if resources.pids_limit is not None:
        result["pids"] = {"limit": resources.pids_limit}
    if resources.unified:
        result["unified"] = dict(resources.unified)
    return {name: value for name, value in result.items() if value}


def _device(device: Device) -> dict[str, Any]:
    return {
        "path": device.path,
        "type": device.kind,
        "major": device.major,
        "minor": device.minor,
        "fileMode": device.mode,
        "uid": device.uid,
        "gid": device.gid,
    }

"""Everything a container needs before its process: root file system, user, volumes, configuration.

Runs in a worker thread: it is all short file work. Every failure is a ``RuntimeFailure`` that a user
can act on; the caller removes the parts created so far.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from podling.files.copies import copy_tree
from podling.rlimits import inherited_open_files
from podling.runtime.base import ContainerSpec, Mount, RuntimeFailure, VolumeDevice
from podling.runtime.images.records import ImageContent
from podling.runtime.oci import linux
from podling.runtime.oci.capabilities import container_capabilities
from podling.runtime.oci.host import Host
from podling.runtime.oci.measuring.cpu_counters import throttle_counters
from podling.runtime.oci.mounting.sources import Sources
from podling.runtime.oci.proc_mounts import check_mounts_over_proc
from podling.runtime.oci.records import ContainerRecord, SandboxRecord
from podling.runtime.oci.rootfs import Owners, mount_rootfs
from podling.runtime.oci.sandbox import joined_namespaces
from podling.runtime.oci.seccomp import profile_for
from podling.runtime.oci.seccomp_compile import compiled
from podling.runtime.oci.spec import Device, Inputs, image_binds, oci_config, stop_signal
from podling.runtime.oci.users import User, check_user, resolve_user
from podling.runtime.platform import architecture
from podling.runtime.security_modules import (
    SelinuxLabels,
    app_armor_profile,
    default_labels,
    loaded_profiles,
    selinux_labels,
)
from podling.runtime.values import SWAP_MAX


class Prepared(Struct, frozen=True):
    """Results of the preparation that the record keeps."""

    image_ref: str
    stop_signal: str
    user: User


def prepare(
    host: Host,
    sandbox: SandboxRecord,
    record: ContainerRecord,
    spec: ContainerSpec,
    image: ImageContent,
    images: Mapping[str, ImageContent],
    target: ContainerRecord | None,
) -> Prepared:
    """Make the container's files and write its ``config.json``. Raises ``RuntimeFailure``.

    ``images`` are those that the container sees as volumes, by id.
    """
    check_platform(image, architecture(), _emulated(image.architecture))
    with _owners(host, sandbox) as owners:
        sources = Sources(host.bundle(record.id), images, owners)
        return _prepare(host, sandbox, record, spec, image, target, sources)


@contextmanager
def _owners(host: Host, sandbox: SandboxRecord) -> Iterator[Owners | None]:
    """Hold the user namespace of a pod that has one."""
    users = sandbox.namespaces.users
    if users is None:
        yield None
        return
    namespace = os.open(host.place(sandbox.id).namespace("user"), os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield Owners(namespace, users)
    finally:
        os.close(namespace)


def _prepare(
    host: Host,
    sandbox: SandboxRecord,
    record: ContainerRecord,
    spec: ContainerSpec,
    image: ImageContent,
    target: ContainerRecord | None,
    sources: Sources,
) -> Prepared:
    owners = sources.owners
    directory, bundle, rootfs = _directories(host, record, image, owners)
    spec = replace(spec, mounts=sources.made(spec.mounts))
    volumes = tuple(_volumes(spec, image, directory / "volumes", rootfs, owners))
    check_mounts_over_proc((*spec.mounts, *volumes), rootfs)
    user = resolve_user(
        spec.security,
        image.config.user or "",
        linux.read_in_root(rootfs, "etc/passwd"),
        linux.read_in_root(rootfs, "etc/group"),
    )
    check_user(user, sandbox.namespaces.users)
    place = host.place(sandbox.id)
    capabilities = container_capabilities(spec.security, host.capabilities)
    seccomp = profile_for(spec.security.seccomp, capabilities)
    if not host.cgroups.limits_swap(sandbox.cgroup):
        others = {name: value for name, value in spec.resources.unified.items() if name != SWAP_MAX}
        spec = replace(spec, resources=replace(spec.resources, memory_swap_limit=None, unified=others))
    inputs = Inputs(
        spec=spec,
        image=image,
        user=user,
        capabilities=capabilities,
        rootfs=rootfs,
        state=host.state,
        cgroup=record.cgroup,
        namespaces=_namespaces(host, sandbox, target),
        hostname=sandbox.hostname,
        shm=Path("/dev/shm") if sandbox.namespaces.host_ipc else place.shm,
        hostname_file=sources.mapped(_hostname_file(host, sandbox), "hostname"),
        extra_mounts=volumes,
        cpu_counters=throttle_counters(),
        users=sandbox.namespaces.users,
        kept_options=sources.kept_options((*image_binds(image, host.state), *spec.mounts, *volumes)),
        seccomp=seccomp,
        seccomp_filter=compiled(seccomp) if seccomp and host.engine.name == "crun" else "",
        devices=_devices(spec),
        unified_cgroups=host.cgroups.unified,
        huge_page_cgroups=host.cgroups.limits_huge_pages,
        app_armor=_app_armor(spec),
        selinux=_selinux(spec),
        oom_score_adj=_oom_score(spec.resources.oom_score_adj, host),
        open_files=inherited_open_files(),
    )
    (bundle / "config.json").write_bytes(msgspec.json.encode(oci_config(inputs)))
    return Prepared(image.ref, stop_signal(spec, image), user)


def _directories(
    host: Host, record: ContainerRecord, image: ImageContent, owners: Owners | None
) -> tuple[Path, Path, Path]:
    """Return the container's own directory, its bundle, and its root file system, mounted."""
    directory, bundle, rootfs = (
        host.root / "containers" / record.id,
        host.bundle(record.id),
        host.rootfs(record.id),
    )
    bundle.mkdir(parents=True, mode=0o700, exist_ok=True)
    try:
        if owners is not None:
            # The OCI runtime enters the root file system as the pod's root user.
            os.chown(bundle, 0, owners.users.first)
            os.chmod(bundle, 0o710)
        mount_rootfs(image.layers, directory, rootfs, owners)
        Path(record.log_path).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RuntimeFailure(f"the container's files cannot be made: {error}") from error
    return directory, bundle, rootfs


def _hostname_file(host: Host, sandbox: SandboxRecord) -> Path:
    """Return the pod's ``/etc/hostname``, written for its first container."""
    path = host.hostname_file(sandbox.id)
    if not path.exists():
        path.write_text(f"{sandbox.hostname}\n")
        path.chmod(0o644)
    return path


def _namespaces(host: Host, sandbox: SandboxRecord, target: ContainerRecord | None) -> dict[str, str]:
    """The namespaces that the container joins: the pod's, and of ``target`` the one of its processes."""
    joined = joined_namespaces(host.place(sandbox.id), sandbox.namespaces, sandbox.init_pid)
    return joined if target is None else {**joined, "pid": f"/proc/{target.pid}/ns/pid"}


def check_platform(image: ImageContent, machine: str, emulated: bool) -> None:
    """Refuse an image of another architecture by name; the kernel would say ``exec format error``."""
    wrong = image.os not in ("", "linux") or image.architecture not in ("", machine)
    if wrong and not (image.os in ("", "linux") and emulated):
        have = f"{image.os or 'linux'}/{image.architecture}"
        raise RuntimeFailure(f"image is built for {have}, this node is linux/{machine}")


_EMULATORS = {"amd64": "x86_64", "arm64": "aarch64", "386": "i386", "loong64": "loongarch64"}


def _emulated(image_architecture: str) -> bool:
    """Return whether the kernel runs this architecture's programs by an emulator (binfmt_misc)."""
    name = _EMULATORS.get(image_architecture, image_architecture)
    return Path(f"/proc/sys/fs/binfmt_misc/qemu-{name}").exists()


def _oom_score(wanted: int | None, host: Host) -> int | None:
    """Return the OOM score to set: never lower than ours where the kernel would refuse that."""
    if wanted is None or "CAP_SYS_RESOURCE" in host.capabilities:
        return wanted
    return max(wanted, int(Path("/proc/self/oom_score_adj").read_text()))


def _app_armor(spec: ContainerSpec) -> str:
    wanted = spec.security.app_armor
    return app_armor_profile(wanted, loaded_profiles()) if wanted else ""


def _selinux(spec: ContainerSpec) -> SelinuxLabels | None:
    wanted = spec.security.selinux
    return selinux_labels(wanted, default_labels()) if wanted is not None else None


def _volumes(
    spec: ContainerSpec, image: ImageContent, directory: Path, rootfs: Path, owners: Owners | None
) -> list[Mount]:
    """Places that the image declares as volumes, for a container whose root is read-only.

    With a writable root the image's directory serves as well: both live as long as the container.
    """
    if not spec.security.read_only_rootfs:
        return []
    taken = {mount.container_path.rstrip("/") for mount in spec.mounts}
    mounts = []
    for number, path in enumerate(sorted(image.config.volumes or ())):
        if path.rstrip("/") in taken:
            continue
        place = directory / str(number)
        _copy_directory(rootfs, path, place, owners)
        mounts.append(Mount(container_path=path, host_path=str(place)))
    return mounts


def _copy_directory(rootfs: Path, path: str, place: Path, owners: Owners | None) -> None:
    """Copy what the image has at ``path`` (its owner and mode included), or make it empty."""
    place.parent.mkdir(exist_ok=True, mode=0o711)
    try:
        source = linux.open_in_root(rootfs, path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        place.mkdir()
        if owners is not None:
            os.chown(place, owners.users.first, owners.users.first)
        return
    try:
        copy_tree(source, place)
    except OSError as error:
        text = f"the image's volume {path} cannot be copied: {error.strerror or error}"
        raise RuntimeFailure(text) from error
    finally:
        os.close(source)


def _devices(spec: ContainerSpec) -> tuple[Device, ...]:
    """Return the container's block volumes and, if it is privileged, the machine's devices."""
    volumes = tuple(_volume_device(device) for device in spec.devices)
    if not spec.security.privileged:
        return volumes
    paths = {device.path for device in volumes}
    return (*(device for device in host_devices() if device.path not in paths), *volumes)


def _volume_device(device: VolumeDevice) -> Device:
    have = os.stat(device.host_path)
    if not stat.S_ISBLK(have.st_mode):
        raise RuntimeFailure(f"{device.host_path} is not a block device")
    return Device(
        path=device.container_path,
        kind="b",
        major=os.major(have.st_rdev),
        minor=os.minor(have.st_rdev),
        mode=stat.S_IMODE(have.st_mode),
        uid=have.st_uid,
        gid=have.st_gid,
        access="r" if device.read_only else "rwm",
    )


def host_devices(root: Path = Path("/dev")) -> list[Device]:
    """Return every device node of the machine that a privileged container gets."""
    devices = []
    for directory, names, files in os.walk(root):
        names[:] = [name for name in names if name not in ("pts", "shm", "fd", "mqueue", ".lxc", ".udev")]
        for name in files:
            path = os.path.join(directory, name)
            have = os.lstat(path)
            if name == "console" or not (stat.S_ISCHR(have.st_mode) or stat.S_ISBLK(have.st_mode)):
                continue
            devices.append(
                Device(
                    path=path,
                    kind="c" if stat.S_ISCHR(have.st_mode) else "b",
                    major=os.major(have.st_rdev),
                    minor=os.minor(have.st_rdev),
                    mode=stat.S_IMODE(have.st_mode),
                    uid=have.st_uid,
                    gid=have.st_gid,
                )
            )
    return devices

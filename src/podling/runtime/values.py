"""Values of the runtime protocol: sandboxes, containers, mounts, limits, statistics."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path

from msgspec import Struct, field


class ContainerState(Enum):
    CREATED = "CREATED"
    RUNNING = "RUNNING"
    EXITED = "EXITED"
    UNKNOWN = "UNKNOWN"


class PortMapping(Struct, frozen=True, kw_only=True):
    """A port of the pod that is also reachable on the node."""

    container_port: int
    host_port: int
    protocol: str = "TCP"
    host_ip: str = ""


class IdRange(Struct, frozen=True, kw_only=True):
    """IDs of the node, which a pod's users and groups 0 to ``count`` - 1 are outside of the pod."""

    first: int
    count: int = 65536


class NamespaceOptions(Struct, frozen=True, kw_only=True):
    """The namespaces that the pod shares with the node, and the PID namespace of its containers."""

    host_network: bool = False
    host_pid: bool = False
    host_ipc: bool = False
    share_processes: bool = False
    users: IdRange | None = None
    """The users of a pod with a user namespace of its own; None: the node's."""


SWAP_MAX = "memory.swap.max"
"""The file of cgroup version 2 with the bytes of swap that a container may use."""


class LinuxResources(Struct, frozen=True, kw_only=True):
    """cgroup limits; ``None`` means not limited (or: not changed, in ``update_resources``).

    Shares are on cgroup v1's scale (2 to 262144), memory is in bytes, quota and period in
    microseconds. ``unified`` names files of cgroup v2 with their contents; on a machine with cgroup v1
    they have no meaning.
    """

    cpu_shares: int | None = None
    cpu_quota: int | None = None
    cpu_period: int | None = None
    memory_limit: int | None = None
    memory_swap_limit: int | None = None
    pids_limit: int | None = None
    oom_score_adj: int | None = None
    cpuset_cpus: str = ""
    cpuset_mems: str = ""
    unified: dict[str, str] = field(default_factory=dict)


class SandboxSpec(Struct, frozen=True, kw_only=True):
    """A pod's environment as the kubelet wants it."""

    pod_uid: str
    pod_name: str
    pod_namespace: str
    attempt: int = 0
    hostname: str = ""
    domainname: str = ""
    log_directory: Path
    cgroup_parent: str = ""
    """The pod's cgroup, as a path under the hierarchy's root (``/podling/burstable/pod<uid>``)."""
    resources: LinuxResources = LinuxResources()
    """The limits of the pod's cgroup as a whole."""
    namespaces: NamespaceOptions = NamespaceOptions()
    port_mappings: tuple[PortMapping, ...] = ()
    sysctls: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    runtime_handler: str = ""
    """The name of one of the runtime's handlers; empty for the default one."""


class Sandbox(Struct, frozen=True, kw_only=True):
    """A pod's environment as it is."""

    id: str
    pod_uid: str
    pod_name: str
    pod_namespace: str
    attempt: int
    ready: bool
    created_at: datetime
    ips: tuple[str, ...] = ()
    """The pod's addresses, first the primary one; empty with host networking."""
    host_network: bool = False
    users: IdRange | None = None
    """The users of a pod with a user namespace of its own."""
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    """Fields of the sandbox that this runtime does not support, one sentence each."""


def sandbox_of(
    spec: SandboxSpec, sandbox_id: str, now: datetime, ips: tuple[str, ...], *, warnings: tuple[str, ...] = ()
) -> Sandbox:
    """Return the status of a sandbox just created from ``spec``."""
    return Sandbox(
        id=sandbox_id,
        pod_uid=spec.pod_uid,
        pod_name=spec.pod_name,
        pod_namespace=spec.pod_namespace,
        attempt=spec.attempt,
        ready=True,
        created_at=now,
        ips=ips,
        host_network=spec.namespaces.host_network,
        users=spec.namespaces.users,
        labels=spec.labels,
        annotations=spec.annotations,
        warnings=warnings,
    )


class MountPropagation(Enum):
    NONE = "None"
    HOST_TO_CONTAINER = "HostToContainer"
    BIDIRECTIONAL = "Bidirectional"


class Mount(Struct, frozen=True, kw_only=True):
    """A path of the node that the container sees at ``container_path``, or an image's files.

    With ``image`` (the id of an image that is here), ``host_path`` is not used: the container sees the
    image's files, always read-only.
    """

    container_path: str
    host_path: str = ""
    image: str = ""
    sub_path: str = ""
    """The part of ``host_path`` or of the image that is mounted. It must be there, and links in it may not
    lead out: containers may change them at any time, so it is the runtime that resolves it."""
    read_only: bool = False
    recursive_read_only: bool = False
    propagation: MountPropagation = MountPropagation.NONE


class VolumeDevice(Struct, frozen=True, kw_only=True):
    """A block device of the node that the container has at ``container_path``."""

    container_path: str
    host_path: str
    read_only: bool = False


class SelinuxOptions(Struct, frozen=True, kw_only=True):
    """The parts of an SELinux label that a container sets; empty ones are the machine's defaults."""

    user: str = ""
    role: str = ""
    type: str = ""
    level: str = ""


class Security(Struct, frozen=True, kw_only=True):
    """A container's privileges, already decided by the kubelet from pod and container.

    ``user`` is ``UID`` or a name of the image's ``/etc/passwd``, empty for the image's own;
    ``seccomp`` is ``runtime/default``, ``unconfined`` or ``localhost/<absolute path>``;
    ``app_armor`` is ``runtime/default``, ``unconfined``, ``localhost/<profile>`` or empty.
    """

    user: str = ""
    group: int | None = None
    supplemental_groups: tuple[int, ...] = ()
    supplemental_groups_policy: str = "Merge"
    privileged: bool = False
    add_capabilities: tuple[str, ...] = ()
    drop_capabilities: tuple[str, ...] = ()
    no_new_privileges: bool = False
    read_only_rootfs: bool = False
    seccomp: str = "unconfined"
    app_armor: str = ""
    selinux: SelinuxOptions | None = None
    masked_paths: tuple[str, ...] = ()
    readonly_paths: tuple[str, ...] = ()


class ContainerSpec(Struct, frozen=True, kw_only=True):
    """One container as the kubelet wants it: everything expanded, nothing left to look up."""

    name: str
    attempt: int = 0
    image: str
    """The id of an image that is here (``Image.id``)."""
    image_name: str = ""
    """The image as the user named it, for display."""
    command: tuple[str, ...] = ()
    """Replaces the image's entrypoint when not empty."""
    args: tuple[str, ...] = ()
    """Replaces the image's cmd when not empty, or when ``command`` is not."""
    working_dir: str = ""
    env: tuple[tuple[str, str], ...] = ()
    mounts: tuple[Mount, ...] = ()
    devices: tuple[VolumeDevice, ...] = ()
    log_path: Path
    """Absolute; written in CRI format: time, stream, P or F, text."""
    stdin: bool = False
    stdin_once: bool = False
    tty: bool = False
    resources: LinuxResources = LinuxResources()
    security: Security = Security()
    stop_signal: str = ""
    """Replaces the image's stop signal when not empty (``SIGTERM``, ``SIGUSR1`` ...)."""
    process_target: str = ""
    """For an ephemeral container: the id of the container whose PID namespace it joins."""
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)


class Container(Struct, frozen=True, kw_only=True):
    """One container as it is. Times are ``None`` until they happened; exit fields until it exited."""

    id: str
    sandbox_id: str
    name: str
    attempt: int
    state: ContainerState
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    exit_code: int | None = None
    reason: str = ""
    """For an exited one: ``Completed``, ``Error``, ``OOMKilled``, ``ContainerCannotRun``, ``StartError``."""
    message: str = ""
    image: str = ""
    """The image as the user named it."""
    image_id: str = ""
    """``Image.id``."""
    image_ref: str = ""
    """The value of ``status.containerStatuses[].imageID``: a repository digest, or the id."""
    log_path: str = ""
    pid: int | None = None
    stop_signal: str = ""
    user: tuple[int, int, tuple[int, ...]] | None = None
    """The first process' UID, GID and supplemental groups, where known."""
    resources: LinuxResources | None = None
    """The limits in force, where the runtime applies any."""
    warnings: tuple[str, ...] = ()
    """Fields of the specification that this runtime does not support, one sentence each."""
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)


class ContainerEventType(Enum):
    CREATED = "CREATED"
    STARTED = "STARTED"
    EXITED = "EXITED"
    REMOVED = "REMOVED"
    SANDBOX_STOPPED = "SANDBOX_STOPPED"


class ContainerEvent(Struct, frozen=True, kw_only=True):
    """Something happened to a container (or, without ``container_id``, to a sandbox)."""

    type: ContainerEventType
    pod_uid: str
    sandbox_id: str
    container_id: str = ""
    at: datetime


@dataclass(slots=True, kw_only=True)
class Streams:
    """The standard streams of ``exec`` and ``attach``.

    ``stdin`` yields chunks and ends at end of file. ``stdout`` and ``stderr`` are awaited per chunk,
    so a slow reader slows the command, not the server; with a terminal everything is stdout.
    ``resizes`` yields (columns, rows).
    """

    stdin: AsyncIterator[bytes] | None = None
    stdout: Callable[[bytes], Awaitable[None]] | None = None
    stderr: Callable[[bytes], Awaitable[None]] | None = None
    resizes: AsyncIterator[tuple[int, int]] | None = None


class ContainerStats(Struct, frozen=True, kw_only=True):
    """A container's use of the machine at one moment."""

    container_id: str
    at: datetime
    cpu_nanoseconds: int = 0
    memory_bytes: int = 0
    memory_working_set_bytes: int = 0
    swap_bytes: int = 0
    processes: int = 0
    writable_layer_bytes: int = 0
    writable_layer_inodes: int = 0


class RuntimeHandler(Struct, frozen=True, kw_only=True):
    """One way to run a pod, which RuntimeClasses name; ``""`` is the one of pods without a class."""

    name: str = ""
    recursive_read_only_mounts: bool = False
    user_namespaces: bool = False
    why_no_user_namespaces: str = ""
    """The reason, for users; empty where the runtime has none."""


class RuntimeStatus(Struct, frozen=True, kw_only=True):
    """The readiness of the runtime to run pods. Messages name what is missing, for the Ready condition."""

    name: str
    version: str
    runtime_ready: bool = True
    runtime_message: str = ""
    network_ready: bool = True
    network_message: str = ""
    handlers: tuple[RuntimeHandler, ...] = (RuntimeHandler(),)


class ProbeAnswer(Struct, frozen=True):
    """The result of a probe over the network."""

    success: bool
    output: str = ""

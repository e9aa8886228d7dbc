"""The holder of a PID namespace that a pod's containers share: one tiny process that only reaps.

A PID namespace ends with its first process, so here, and only here, a pod needs one that is
not its own. It must be the namespace's init (reap orphans), must not show the node's files to the
containers beside it, and should cost nothing. So it is a program of a few machine instructions in an
otherwise empty, read-only root, run by the OCI runtime without any capability: it ignores SIGCHLD, which
makes the kernel reap for it, and pauses for ever.
"""

from __future__ import annotations

import os
import signal
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from podling.files.trees import remove_tree
from podling.runtime.base import RuntimeFailure
from podling.runtime.oci import commands
from podling.runtime.oci.host import Host, birth, exiting, open_process
from podling.runtime.oci.records import SandboxRecord
from podling.runtime.oci.sandbox import pin
from podling.runtime.oci.spec import id_mappings
from podling.runtime.oci.threads import in_thread, wait_for_end
from podling.runtime.platform import architecture

_X86_64 = bytes.fromhex(
    "b80d000000"  # mov eax, 13            rt_sigaction
    "bf11000000"  # mov edi, 17            SIGCHLD
    "488d351f000000"  # lea rsi, [rip + 31]   the action below
    "31d2"  # xor edx, edx
    "41ba08000000"  # mov r10d, 8
    "0f05"  # syscall
    "b822000000"  # mov eax, 34            pause
    "0f05"  # syscall
    "ebf7"  # jmp to the mov
    "0f1f440000"  # padding
    "0f1f440000"
    "6690"
    "0100000000000000"  # SIG_IGN
    "0000000000000000" * 3
)
_AARCH64 = struct.pack(
    "<14I",
    0xD28010C8,  # mov x8, #134           rt_sigaction
    0xD2800220,  # mov x0, #17            SIGCHLD
    0x10000181,  # adr x1, +48            the action below
    0xD2800002,  # mov x2, #0
    0xD2800103,  # mov x3, #8
    0xD4000001,  # svc #0
    0xD2800928,  # mov x8, #73            ppoll
    0xD2800000,  # mov x0, #0
    0xD2800001,  # mov x1, #0
    0xD2800002,  # mov x2, #0
    0xD2800003,  # mov x3, #0
    0xD4000001,  # svc #0
    0x17FFFFFA,  # b to the ppoll
    0xD503201F,  # nop
) + bytes.fromhex("0100000000000000" + "0000000000000000" * 3)

_MACHINES = {"amd64": (62, _X86_64), "arm64": (183, _AARCH64)}
_BASE = 0x400000


def program(machine: str) -> bytes:
    """Return the holder as an ELF file for ``machine`` (Go's name). Raises ``RuntimeFailure``."""
    if machine not in _MACHINES:
        raise RuntimeFailure(f"pods with a shared process namespace are not supported on {machine}")
    number, code = _MACHINES[machine]
    start = 64 + 56
    header = b"\x7fELF" + bytes((2, 1, 1)) + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 2, number, 1, _BASE + start, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    size = start + len(code)
    return header + struct.pack("<IIQQQQQQ", 1, 5, 0, _BASE, _BASE, size, size, 0x1000) + code


def _config(record: SandboxRecord, rootfs: Path, host: Host) -> dict[str, Any]:
    place = host.place(record.id)
    kinds: list[dict[str, str]] = [{"type": "pid"}, {"type": "mount"}]
    if not record.namespaces.host_ipc:
        kinds.append({"type": "ipc", "path": str(place.namespace("ipc"))})
    if not record.namespaces.host_network:
        kinds.append({"type": "network", "path": str(place.namespace("net"))})
        kinds.append({"type": "uts", "path": str(place.namespace("uts"))})
    users = record.namespaces.users
    if users is not None:
        kinds.insert(0, {"type": "user", "path": str(place.namespace("user"))})
    return {
        "ociVersion": "1.0.2",
        "process": {
            "terminal": False,
            "user": {"uid": 65535, "gid": 65535},
            "args": ["/pause"],
            "cwd": "/",
            "capabilities": {},
            "noNewPrivileges": True,
        },
        "root": {"path": str(rootfs), "readonly": True},
        "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}],
        "linux": {
            "cgroupsPath": f"{record.cgroup}/{record.id}",
            "namespaces": kinds,
            "resources": {"devices": [{"allow": False, "access": "rwm"}]},
            **(id_mappings(users) if users is not None else {}),
        },
    }


async def start_init(host: Host, record: SandboxRecord) -> SandboxRecord:
    """Start the holder and pin its namespace; returns the record with its PID."""
    bundle = host.bundle(record.id)

    def write() -> None:
        rootfs = bundle / "rootfs"
        for name in ("dev", "proc"):
            (rootfs / name).mkdir(parents=True)
        os.chmod(bundle, 0o711)
        if record.namespaces.users is not None:
            # The OCI runtime makes device nodes there as the pod's root user.
            root = record.namespaces.users.first
            for place in (rootfs, rootfs / "dev", rootfs / "proc"):
                os.chown(place, root, root)
        (rootfs / "pause").write_bytes(program(architecture()))
        os.chmod(rootfs / "pause", 0o755)
        config = bundle / "config.json"
        config.touch(0o600)
        config.write_bytes(msgspec.json.encode(_config(record, rootfs, host)))

    await in_thread(write, undo=wait_for_end)
    pid_file = bundle / "pid"
    command = host.engine_command("create", f"--bundle={bundle}", f"--pid-file={pid_file}", record.id)
    hide = host.engine.hide_unified
    await commands.run_detached(command, hide=hide)
    pid = int(pid_file.read_text())
    record = replace(record, init_pid=pid, init_birth=birth(pid))
    await commands.run_detached(host.engine_command("start", record.id), hide=hide)
    pinned = host.place(record.id).namespace("pid")
    await in_thread(lambda: pin(f"/proc/{pid}/ns/pid", pinned), undo=wait_for_end)
    return record


def init_alive(record: SandboxRecord) -> bool:
    """Return whether the holder that the record names still lives.

    The kernel ends a namespace's processes while its first one exits. Who saw one of them end must find the
    holder gone too, or would start a container in a namespace that takes no more.
    """
    lives = record.init_pid != 0 and birth(record.init_pid) == record.init_birth
    return lives and not exiting(record.init_pid)


async def end_init(host: Host, record: SandboxRecord) -> None:
    """Kill the holder and remove its files; succeeds where there is none."""
    if not record.namespaces.share_processes:
        return
    await in_thread(lambda: _end(host, record))


def _end(host: Host, record: SandboxRecord) -> None:
    with suppress(ProcessLookupError, OSError):
        descriptor = open_process(record.init_pid, record.init_birth)
        try:
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        finally:
            os.close(descriptor)
    host.cgroups.kill(f"{record.cgroup}/{record.id}")
    host.cgroups.remove(f"{record.cgroup}/{record.id}")
    remove_tree(host.engine_root / record.id)
    remove_tree(host.bundle(record.id))

"""Records of sandboxes and containers: one small JSON file each.

A record is written before its object is created and removed after the object is gone, so all leftovers of a
crash have a record that the next start can finish or undo. Files change as a whole; they are not forced to
disk, since after a power cut no container runs anyway.

A file is filled up with spaces to one page. A later record that fits is written over it in one system call,
which the end of this process cannot divide. Replacing the file instead takes ten times as long: some file
systems then begin to write it to disk at once.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from podling.files.trees import remove_tree
from podling.runtime.base import Container, ContainerState, LinuxResources, NamespaceOptions, Sandbox

logger = logging.getLogger(__name__)

RECORD = "record.json"
PAGE = 4096


class SandboxRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One sandbox. It is *complete* once every part of it stands; until then it is only an intent."""

    id: str
    pod_uid: str
    pod_name: str
    pod_namespace: str
    attempt: int = 0
    created_at: datetime
    complete: bool = False
    stopped: bool = False
    ips: tuple[str, ...] = ()
    hostname: str = ""
    cgroup: str
    own_cgroup: bool = True
    namespaces: NamespaceOptions = NamespaceOptions()
    engine: str = ""
    """The OCI runtime of its containers."""
    init_pid: int = 0
    """The holder of the shared PID namespace, where there is one."""
    init_birth: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}

    def shown(self, *, ready: bool) -> Sandbox:
        return Sandbox(
            id=self.id,
            pod_uid=self.pod_uid,
            pod_name=self.pod_name,
            pod_namespace=self.pod_namespace,
            attempt=self.attempt,
            ready=ready,
            created_at=self.created_at,
            ips=self.ips,
            host_network=self.namespaces.host_network,
            users=self.namespaces.users,
            labels=self.labels,
            annotations=self.annotations,
        )


class ContainerRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One container. ``birth`` is its process' start time in the kernel's ticks: with the PID it
    distinguishes the process from a later one with the same number."""

    id: str
    sandbox_id: str
    pod_uid: str
    name: str
    attempt: int = 0
    state: ContainerState = ContainerState.CREATED
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    exit_code: int | None = None
    reason: str = ""
    message: str = ""
    image: str = ""
    image_id: str = ""
    image_ref: str = ""
    log_path: str
    engine: str = ""
    """The OCI runtime that it was made with."""
    cgroup: str
    pid: int = 0
    birth: int = 0
    stop_signal: str = "SIGTERM"
    tty: bool = False
    stdin: bool = False
    stdin_once: bool = False
    user: tuple[int, int, tuple[int, ...]] | None = None
    resources: LinuxResources = LinuxResources()
    changing: LinuxResources | None = None
    """A change of its limits that has begun: it may be made in part, unlike what ``resources`` says."""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}

    def shown(self) -> Container:
        return Container(
            id=self.id,
            sandbox_id=self.sandbox_id,
            name=self.name,
            attempt=self.attempt,
            state=self.state,
            created_at=self.created_at,
            started_at=self.started_at,
            finished_at=self.finished_at,
            exit_code=self.exit_code,
            reason=self.reason,
            message=self.message,
            image=self.image,
            image_id=self.image_id,
            image_ref=self.image_ref,
            log_path=self.log_path,
            pid=self.pid if self.state is ContainerState.RUNNING else None,
            stop_signal=self.stop_signal,
            user=self.user,
            resources=self.resources,
            labels=self.labels,
            annotations=self.annotations,
        )


R = TypeVar("R", SandboxRecord, ContainerRecord)


class Records(Generic[R]):
    """All records of one kind: a directory each under ``root``, and a copy in memory to read from."""

    def __init__(self, root: Path, kind: type[R]) -> None:
        self.root = root
        self._kind: type[R] = kind
        self._all: dict[str, R] = {}
        self._pages: set[str] = set()
        """The ids of records whose files are one page long."""

    def load(self) -> list[str]:
        """Read everything from disk; return the names of directories without a record, or with a damaged one.

        Raises ``OSError`` for records that cannot be read now: their containers must not be taken for strays.
        """
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._all.clear()
        self._pages.clear()
        strays = []
        for directory in sorted(self.root.iterdir()):
            try:
                record = msgspec.json.decode((directory / RECORD).read_bytes(), type=self._kind)
            except (FileNotFoundError, NotADirectoryError, msgspec.MsgspecError):
                strays.append(directory.name)
            else:
                self._all[record.id] = record
        return strays

    def get(self, id_: str) -> R | None:
        return self._all.get(id_)

    def all(self) -> tuple[R, ...]:
        return tuple(self._all.values())

    def directory(self, id_: str) -> Path:
        return self.root / id_

    def save(self, record: R) -> R:
        """Write a record, making its directory where needed. Raises ``OSError``, and leaves then what was."""
        directory = f"{self.root}/{record.id}"
        data = msgspec.json.encode(record).ljust(PAGE)
        try:
            self._write(directory, data, in_place=record.id in self._pages and len(data) == PAGE)
        except OSError:
            if record.id not in self._all:
                with suppress(OSError):
                    remove_tree(Path(directory))
            raise
        self._all[record.id] = record
        if len(data) == PAGE:
            self._pages.add(record.id)
        else:
            self._pages.discard(record.id)
        return record

    def _write(self, directory: str, data: bytes, *, in_place: bool) -> None:
        # Plain names and descriptors: with methods of Path, a record would take twice the time, six times
        # a pod.
        if in_place:
            with suppress(FileNotFoundError):
                _put(f"{directory}/{RECORD}", data, os.O_WRONLY)
                return
        temporary = f"{directory}/.{RECORD}"
        try:
            _put(temporary, data, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        except FileNotFoundError:
            os.mkdir(directory, mode=0o700)
            _put(temporary, data, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.replace(temporary, f"{directory}/{RECORD}")

    def note(self, record: R) -> R:
        """Save what has happened already, which a full disk does not undo: then it is known at least until
        the next start, which finds out for itself."""
        try:
            return self.save(record)
        except OSError as error:
            logger.warning("the record of %s cannot be written: %s", record.id, error)
            self._all[record.id] = record
            return record

    def forget(self, id_: str) -> None:
        """Remove a record with its whole directory."""
        self._all.pop(id_, None)
        self._pages.discard(id_)
        try:
            (self.root / id_ / RECORD).unlink(missing_ok=True)
            remove_tree(self.root / id_)
        except OSError as error:
            logger.warning("the directory of %s was not removed: %s", id_, error)


def _put(name: str, data: bytes, flags: int) -> None:
    descriptor = os.open(name, flags | os.O_CLOEXEC, 0o644)
    try:
        written = 0
        while written < len(data):
            written += os.write(descriptor, data[written:])
    finally:
        os.close(descriptor)

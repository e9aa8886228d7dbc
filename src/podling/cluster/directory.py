"""The data directory: everything one cluster keeps on disk, and the lock that makes it one cluster.

A cluster *is* its data directory: commands name it, the running process holds its lock, and moving
it moves the cluster. What must be known before the cluster answers (its port, its runtime) is in
``cluster.json``; who runs it is in ``podling.pid``, which means something only while the lock is held.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

LOCK_RETRY_TEXT = "stop it first ('podling down --data-dir {path}'), or name another --data-dir"


class DirectoryInUse(Exception):
    """Another process runs this cluster. ``pid`` is its process id, 0 if unknown."""

    def __init__(self, path: Path, pid: int) -> None:
        owner = f"process {pid}" if pid else "another process"
        super().__init__(f"data directory {path} is in use by {owner}; {LOCK_RETRY_TEXT.format(path=path)}")
        self.pid = pid


class DirectoryUnusable(Exception):
    """The data directory cannot be made or written."""


class ClusterSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a cluster remembers between runs; command-line options override and replace it."""

    port: int = 0
    runtime: str = ""
    nodes: int = 1
    static_pod_path: str = ""
    """The directory with the static pods of the first node; empty: none."""


class DataDirectory:
    """Paths of one cluster's files, made on demand."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().absolute()

    @property
    def id(self) -> str:
        """Eight hexadecimal digits that tell this cluster from others on the same machine."""
        return hashlib.sha256(str(self.path).encode()).hexdigest()[:8]

    @property
    def pki(self) -> Path:
        return self.path / "pki"

    @property
    def store(self) -> Path:
        return self.path / "store.db"

    @property
    def kubeconfig(self) -> Path:
        return self.path / "admin.kubeconfig"

    @property
    def images(self) -> Path:
        return self.path / "images"

    @property
    def log(self) -> Path:
        return self.path / "podling.log"

    def node(self, name: str) -> Path:
        return self.path / "nodes" / name

    def node_names(self) -> list[str]:
        """The nodes that ever ran from this directory, in order of name."""
        folder = self.path / "nodes"
        return sorted(entry.name for entry in folder.iterdir() if entry.is_dir()) if folder.is_dir() else []

    def create(self) -> None:
        """Make the directory, readable by its owner only. Raises ``DirectoryUnusable``."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self.path.chmod(0o711)
            for folder in (self.pki, self.path / "nodes"):
                folder.mkdir(exist_ok=True, mode=0o700)
        except OSError as error:
            reason = f"cannot use data directory {self.path}: {error.strerror or error}"
            raise DirectoryUnusable(f"{reason}; name another with --data-dir") from error

    def settings(self) -> ClusterSettings:
        """What the last run recorded; the defaults for a new or damaged directory."""
        try:
            return msgspec.json.decode((self.path / "cluster.json").read_bytes(), type=ClusterSettings)
        except (OSError, msgspec.DecodeError):
            return ClusterSettings()

    def remember(self, settings: ClusterSettings) -> None:
        temporary = self.path / "cluster.json.new"
        temporary.write_bytes(msgspec.json.encode(settings))
        temporary.replace(self.path / "cluster.json")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the directory for this process. Raises ``DirectoryInUse``."""
        with (self.path / "lock").open("a") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DirectoryInUse(self.path, self._recorded_pid()) from None
            pid_file = self.path / "podling.pid"
            with contextlib.suppress(OSError):  # a full disk must not keep anybody from making room
                pid_file.write_text(f"{os.getpid()}\n")
            try:
                yield
            finally:
                pid_file.unlink(missing_ok=True)

    def running_pid(self) -> int:
        """The process that runs this cluster now, 0 if none does."""
        try:
            with (self.path / "lock").open("r") as handle:
                try:
                    fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    return self._recorded_pid()
        except OSError:
            return 0
        return 0

    def _recorded_pid(self) -> int:
        try:
            return int((self.path / "podling.pid").read_text())
        except (OSError, ValueError):
            return 0

"""The data directory: everything one cluster keeps on disk, and the lock that makes it one cluster.

A cluster *is* its data directory: commands name it, the running process holds its lock, and moving
it moves the cluster (``relocation``). What must be known before the cluster answers (its port, its
runtime) is in ``cluster.json``; the id of the running process is in ``podling.pid``, which means something
only while the lock is held. Files are readable by the owner only: a user who can open the lock can hold it.
"""

from __future__ import annotations

import hashlib
import logging
import os
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from podling.cluster import identity
from podling.cluster.cluster_settings import ClusterSettings
from podling.cluster.directory_errors import DirectoryUnusable
from podling.cluster.directory_lock import DirectoryLock
from podling.cluster.identity import Identity, Place, Standing
from podling.files.private import replace_file

logger = logging.getLogger(__name__)

SETTINGS = "cluster.json"
RUNTIMES = ("oci", "process")
"""Runtimes that keep records on disk, in directories of their names."""


_OWN_FILES = (
    "store.db",
    "podling.",
    "lock",
    "cluster.json",
    "node.json",
    "identity.json",
    "admin.kubeconfig",
)
"""The prefix of the names of a cluster's files."""

_OWN_FOLDERS = frozenset({"pki", "images", "nodes", "volumes", "set-aside", "lost+found"})
"""Folders of a cluster, which may be file systems of their own, and what an empty file system holds."""


class DataDirectory:
    """Paths of one cluster's files, made on demand."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().resolve()

    @property
    def id(self) -> str:
        """Eight hexadecimal digits that distinguish this cluster from others on the same machine.

        It has no meaning in a copy until ``relocation.settle`` has given it one of its own.
        """
        recorded = self.identity()
        return recorded.id if recorded else hashlib.sha256(str(self.path).encode()).hexdigest()[:8]

    def identity(self) -> Identity | None:
        """Return the identity last used here. Raises ``DirectoryUnusable``."""
        try:
            found = identity.read(self.path)
        except (OSError, msgspec.DecodeError) as error:
            file = self.path / identity.FILE
            raise DirectoryUnusable(f"{file} cannot be read: {error}; restore it from a backup") from error
        if found is not None and found.format > identity.FORMAT:
            raise DirectoryUnusable(
                f"{self.path} was written by a newer version (format {found.format}, this one reads up to "
                f"{identity.FORMAT}); upgrade podling"
            )
        return found

    def remember_identity(self, own: Identity) -> None:
        replace_file(self.path / identity.FILE, msgspec.json.encode(own))

    def standing(self) -> Standing:
        """Return whether the directory is where its identity was last used. Raises ``DirectoryUnusable``."""
        return identity.standing(self.identity(), Place.of(self.path))

    @property
    def pki(self) -> Path:
        return self.path / "pki"

    @property
    def store(self) -> Path:
        return self.path / "store.db"

    @property
    def set_aside(self) -> Path:
        """Values and stores that could not be read, kept as they were."""
        return self.path / "set-aside"

    @property
    def kubeconfig(self) -> Path:
        return self.path / "admin.kubeconfig"

    @property
    def images(self) -> Path:
        return self.path / "images"

    @property
    def volumes(self) -> Path:
        return self.path / "volumes"

    @property
    def log(self) -> Path:
        return self.path / "podling.log"

    @property
    def socket(self) -> Path:
        """The API server's Unix socket, where the parts of the cluster are processes of their own."""
        return self.path / "podling.sock"

    @property
    def inside(self) -> Path:
        """The API server's Unix socket for requests that its workers forward."""
        return self.path / "podling-inside.sock"

    @property
    def revision(self) -> Path:
        """The file of the store's revision, which the processes of the API server map."""
        return self.path / "podling-revision"

    def check_store(self) -> None:
        """Raise ``DirectoryUnusable`` if the store of a cluster that ran before is missing or empty.

        A new store would begin a new cluster, which ends every container of the old one.
        """
        if not self._ran_before():
            return
        try:
            missing = self.store.stat().st_size == 0
        except FileNotFoundError:
            missing = True
        if missing:
            state = "is empty" if self.store.exists() else "is missing"
            raise DirectoryUnusable(
                f"{self.store} {state}, but a cluster ran in {self.path}; restore it from a backup, or begin "
                "a new cluster there, which ends the old one's containers: 'podling up --new-store'"
            )

    def _ran_before(self) -> bool:
        return (self.path / SETTINGS).exists() or bool(self._runtime_found())

    def retire_store(self) -> Path | None:
        """Move the store's files out of the way of a new one; return where they are. Raises ``OSError``."""
        files = [path for path in self.path.glob(f"{self.store.name}*") if path.suffix != ".lock"]
        if not files:
            return None
        number = 1
        while (folder := self.set_aside / f"store-{number}").exists():
            number += 1
        folder.mkdir(parents=True, mode=0o700)
        for path in files:
            path.rename(folder / path.name)
        return folder

    def node(self, name: str) -> Path:
        return self.path / "nodes" / name

    def node_names(self) -> list[str]:
        """Return the nodes that ever ran from this directory, in order of name."""
        folder = self.path / "nodes"
        return sorted(entry.name for entry in folder.iterdir() if entry.is_dir()) if folder.is_dir() else []

    def create(self) -> None:
        """Make the directory, readable by its owner only. Raises ``DirectoryUnusable``."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._refuse_other_things()
            self.path.chmod(0o711)
            self._close_files()
            for folder in (self.pki, self.images, self.path / "nodes"):
                folder.mkdir(exist_ok=True)
                folder.chmod(0o700)
            # Processes of other users pass through to their own volumes, whose names they know.
            self.volumes.mkdir(exist_ok=True)
            self.volumes.chmod(0o711)
        except OSError as error:
            reason = f"cannot use data directory {self.path}: {error.strerror or error}"
            raise DirectoryUnusable(f"{reason}; name another with --data-dir") from error

    def _refuse_other_things(self) -> None:
        """Raise ``DirectoryUnusable`` for a directory that holds other things and no cluster."""
        names = os.listdir(self.path)
        # A folder of these names proves nothing in a user's home, and hinders nothing in a new directory.
        others = [name for name in names if name not in _OWN_FOLDERS]
        if others and not any(name.startswith(_OWN_FILES) for name in others):
            raise DirectoryUnusable(
                f"{self.path} is not empty and no data directory; name another with --data-dir"
            )

    def _close_files(self) -> None:
        """Take the files of an earlier version from everyone but their owner."""
        with os.scandir(self.path) as entries:
            for entry in entries:
                if not entry.name.startswith(_OWN_FILES) or not entry.is_file(follow_symlinks=False):
                    continue
                if entry.stat(follow_symlinks=False).st_mode & 0o077:
                    os.chmod(entry.path, 0o600)

    def settings(self) -> ClusterSettings:
        """Return what the last run recorded; the defaults for a new directory.

        Where the record is damaged, the nodes' directories still say which runtime has containers to end.
        """
        try:
            found = msgspec.json.decode((self.path / SETTINGS).read_bytes(), type=ClusterSettings)
            found.ranges()
            return found
        except (FileNotFoundError, NotADirectoryError):
            return ClusterSettings(runtime=self._runtime_found())
        except (OSError, msgspec.DecodeError, ValueError) as error:
            logger.warning("%s cannot be read, so the defaults hold: %s", self.path / SETTINGS, error)
            return ClusterSettings(runtime=self._runtime_found())

    def _runtime_found(self) -> str:
        """Return the runtime that keeps records in the directory of a node; empty without any.

        An empty directory is no record: it may be where a file system was mounted for the records to come.
        """
        nodes = [self.node(name) for name in self.node_names()]
        return next((each for each in RUNTIMES if any(_holds_anything(node / each) for node in nodes)), "")

    def remember(self, settings: ClusterSettings) -> None:
        """Record the settings of this run. A full disk must not keep a cluster from starting."""
        if settings == self.settings():
            return
        try:
            replace_file(self.path / SETTINGS, msgspec.json.encode(settings))
        except OSError as error:
            logger.warning("the cluster's settings could not be recorded: %s", error)

    def locked(self) -> AbstractContextManager[None]:
        """Hold the directory for this process. Raises ``DirectoryInUse`` or ``DirectoryUnusable``."""
        return DirectoryLock(self.path).hold()

    def running_pid(self) -> int:
        """Return the process that runs this cluster now, 0 if none does.

        Raises ``DirectoryUnusable`` where another user runs it, or another program holds its lock.
        """
        return DirectoryLock(self.path).running_pid()


def _holds_anything(folder: Path) -> bool:
    try:
        return any(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return False

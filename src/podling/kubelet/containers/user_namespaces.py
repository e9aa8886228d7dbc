"""Gives each pod with ``hostUsers: false`` users of its own, for as long as the pod exists.

A pod's IDs are in a file of its directory, written before its sandbox is made, so they stay over restarts of
the kubelet. The runtime knows the IDs of pods that run, too: a damaged file is written anew from there, and
without a sandbox the pod gets other IDs. No pod can get the IDs of another in either case.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from pathlib import Path

from podling.api.core_v1 import Pod
from podling.files.atomic import write_atomically
from podling.kubelet.blocking import blocking
from podling.kubelet.config import KubeletConfig
from podling.kubelet.containers.user_ids import Pool, mapping_text, next_block, read_mapping
from podling.kubelet.directories import Directories
from podling.runtime.base import IdRange, Runtime, RuntimeFailure, RuntimeHandler

logger = logging.getLogger(__name__)


class UserNamespaces:
    """The users of the pods of one node. Nothing is read before the first pod needs it.

    Args:
        pool: the blocks of IDs that the pods may have.
    """

    def __init__(self, runtime: Runtime, directories: Directories, config: KubeletConfig, pool: Pool) -> None:
        self._pool = pool
        self._runtime = runtime
        self._directories = directories
        self._count = config.user_namespaces_ids_per_pod
        self._write = config.write_files
        self._used: dict[str, IdRange] = {}
        """By the pods' UIDs."""
        self._last = 0
        self._known = False
        self._lock = asyncio.Lock()

    async def users_of(self, pod: Pod, handler: str = "") -> IdRange | None:
        """Return the IDs of the pod's users with a runtime handler; None if they are the node's.

        Raises ``RuntimeFailure``.
        """
        if pod.spec.host_users is not False:
            return None
        await self._check_runtime(handler)
        uid = pod.metadata.uid or ""
        async with self._lock:
            if not self._known:
                await self._read_all()
            found = self._used.get(uid)
            if found is None:
                found = self._used[uid] = await self._new(uid)
            return found

    async def _check_runtime(self, name: str) -> None:
        status = await self._runtime.status()
        found = next((each for each in status.handlers if each.name == name), RuntimeHandler())
        if found.user_namespaces:
            return
        which = f'RuntimeClass handler "{name}"' if name else "runtime"
        text = f"can't set `spec.hostUsers: false`, {which} does not support user namespaces"
        why = found.why_no_user_namespaces
        raise RuntimeFailure(f"{text}: {why}" if why else text)

    async def _new(self, uid: str) -> IdRange:
        found = next_block(self._used.values(), self._last, self._count, self._pool)
        if found is None:
            text = "could not find an empty slot to allocate a user namespace"
            raise RuntimeFailure(f"create user namespace: {text}")
        if self._write:
            try:
                await blocking(self._save, uid, found)
            except OSError as error:
                raise RuntimeFailure(f"create user namespace: {error}") from error
        self._last = found.first
        return found

    def _save(self, uid: str, users: IdRange) -> None:
        path = self._directories.user_namespace(uid)
        path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
        write_atomically(path, mapping_text(users), 0o600)

    async def _read_all(self) -> None:
        """Read the IDs of the pods that an earlier kubelet left: first what runs, then the files."""
        for sandbox in await self._runtime.list_sandboxes():
            if sandbox.users is not None:
                self._used[sandbox.pod_uid] = sandbox.users
        if self._write:
            await blocking(self._read_files)
        self._last = max((users.first for users in self._used.values()), default=0)
        self._known = True

    def _read_files(self) -> None:
        for uid in self._directories.pod_uids():
            path = self._directories.user_namespace(uid)
            try:
                users = read_mapping(path.read_bytes(), self._count, self._pool)
                self._note(uid, users)
            except FileNotFoundError:
                continue
            except (OSError, ValueError) as error:
                self._repair(uid, path, error)

    def _note(self, uid: str, users: IdRange) -> None:
        """Record the IDs of a file. Raises ``ValueError`` if they cannot be the pod's."""
        if self._used.get(uid, users) != users:
            raise ValueError(f'different user namespace range already used by pod "{uid}"')
        if any(other != uid and used == users for other, used in self._used.items()):
            raise ValueError(f'range picked for pod "{uid}" already taken')
        self._used[uid] = users

    def _repair(self, uid: str, path: Path, error: Exception) -> None:
        running = self._used.get(uid)
        fate = "the IDs of its sandbox are kept" if running is not None else "it gets other IDs"
        logger.warning("user namespace of pod %s: %s: %s; %s", uid, path, error, fate)
        with suppress(OSError):
            if running is not None:
                self._save(uid, running)
            else:
                path.unlink()

    def release(self, uid: str) -> None:
        """Let other pods have the IDs of a pod that is gone, sandboxes included."""
        self._used.pop(uid, None)

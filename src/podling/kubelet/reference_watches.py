"""Watches of the ConfigMaps and Secrets that the node's pods refer to, one for each object.

A kubelet may watch only single objects that its pods refer to. So each object has a watch of its own while
some pod follows it. A change wakes these pods at once. An immutable object is read once and not watched.

Upstream counterpart: ``pkg/kubelet/util/manager/watch_based_manager.go``; there a pod looks once a minute.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from podling.api.core_v1 import ConfigMap, Secret
from podling.client.base import Client, Key
from podling.client.informer import Informer
from podling.machinery.pod_references import CONFIG_MAPS, SECRETS, Reference
from podling.supervisor import Supervisor

T = TypeVar("T", ConfigMap, Secret)

SYNC_SECONDS = 1.0
"""The longest wait of a reader for a new watch; after it the object is read from the API server."""

VOLUMES = "volumes"
VARIABLES = "variables"


_KINDS: Mapping[str, type[ConfigMap] | type[Secret]] = {CONFIG_MAPS: ConfigMap, SECRETS: Secret}
_RESOURCES = {kind: resource for resource, kind in _KINDS.items()}


class ReferenceWatches:
    """The watches of one node.

    Args:
        changed: called with a pod's UID, the use (``VOLUMES`` or ``VARIABLES``) of an object that changed,
            and that object.
    """

    def __init__(self, client: Client, changed: Callable[[str, str, Reference], None]) -> None:
        self._client = client
        self._changed = changed
        self._wanted: dict[tuple[str, str], frozenset[Reference]] = {}
        self._watched: dict[Reference, _Watched] = {}
        self._supervisor = Supervisor()

    def __len__(self) -> int:
        """Return the number of open watches."""
        return sum(watched.is_open for watched in self._watched.values())

    def follow(self, uid: str, use: str, references: Iterable[Reference], *, late: bool = False) -> None:
        """Follow exactly these objects for one use of one pod; other resources are left out.

        ``late``: the pod has read them already, so one that a new watch finds counts as changed.
        """
        name, wanted = (uid, use), frozenset(each for each in references if each[0] in _KINDS)
        before = self._wanted.pop(name, frozenset())
        if wanted:
            self._wanted[name] = wanted
        for reference in wanted - before:
            watched = self._watched.get(reference)
            if watched is None:
                watched = self._watched[reference] = self._watch(reference)
            watched.follow(name, late=late)
        for reference in before - wanted:
            self._release(reference, name)

    def forget(self, uid: str) -> None:
        """Follow nothing for the pod any more."""
        for use in (VOLUMES, VARIABLES):
            for reference in self._wanted.pop((uid, use), frozenset()):
                self._release(reference, (uid, use))

    async def get(self, kind: type[T], name: str, namespace: str | None = None) -> T:
        """Return an object as its watch shows it; without one, from the API server. Raises ``ApiError``."""
        watched = self._watched.get((_RESOURCES[kind], namespace or "", name))
        found = await watched.current() if watched is not None else None
        return found if found is not None else await self._client.get(kind, name, namespace)

    async def close(self) -> None:
        await self._supervisor.close()
        self._supervisor = Supervisor()
        self._wanted.clear()
        self._watched.clear()

    def _watch(self, reference: Reference) -> _Watched:
        watched = _Watched(self._client, reference, self._changed)
        watched.begin(self._supervisor)
        return watched

    def _release(self, reference: Reference, name: tuple[str, str]) -> None:
        watched = self._watched[reference]
        watched.pods.pop(name, None)
        if not watched.pods:
            del self._watched[reference]
            watched.end()


class _Watched:
    """One object: its watch, and the pods that follow it, by UID and use."""

    def __init__(
        self, client: Client, reference: Reference, changed: Callable[[str, str, Reference], None]
    ) -> None:
        self._changed = changed
        self._reference = reference
        resource, namespace, name = reference
        self._subject = name
        self._key = Key(namespace, name)
        self._immutable: Any = None
        self._unseen: dict[tuple[str, str], None] = {}
        """Those who read the object elsewhere before this watch had listed it."""
        self._task: asyncio.Task[None] | None = None
        self.pods: dict[tuple[str, str], None] = {}
        self._informer: Informer[Any] = Informer(
            client, _KINDS[resource], namespace, field_selector=f"metadata.name={name}"
        )
        self._informer.add_handler(self._added, lambda old, new: self._updated(new), self._removed)

    @property
    def is_open(self) -> bool:
        return self._task is not None

    def begin(self, supervisor: Supervisor) -> None:
        self._task = supervisor.keep_running("kubelet/references", self._informer.run, self._subject)

    def end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def follow(self, name: tuple[str, str], *, late: bool) -> None:
        self.pods[name] = None
        if not late:
            return
        if not self._informer.has_synced:
            self._unseen[name] = None
        elif self._informer.get(self._key) is not None:
            self._changed(*name, self._reference)

    async def current(self) -> Any:
        """Return the object; None if it is absent, or unknown because no list was answered in time."""
        if self._immutable is not None:
            return self._immutable
        if not self._informer.has_synced:
            try:
                async with asyncio.timeout(SYNC_SECONDS):
                    await self._informer.synced()
            except TimeoutError:
                self._unseen.update(self.pods)
        return self._informer.get(self._key)

    def _added(self, obj: ConfigMap | Secret) -> None:
        pods, self._unseen = self.pods if self._informer.has_synced else self._unseen, {}
        for name in tuple(pods):
            self._changed(*name, self._reference)
        self._keep_immutable(obj)

    def _updated(self, obj: ConfigMap | Secret) -> None:
        for name in tuple(self.pods):
            self._changed(*name, self._reference)
        self._keep_immutable(obj)

    def _removed(self, obj: ConfigMap | Secret) -> None:
        for name in tuple(self.pods):
            self._changed(*name, self._reference)

    def _keep_immutable(self, obj: ConfigMap | Secret) -> None:
        if obj.immutable:
            self._immutable = obj
            self.end()

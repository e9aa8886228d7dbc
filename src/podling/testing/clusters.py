"""A test's cluster, as the test sees it: ``Cluster`` blocks, ``AsyncCluster`` is awaited; they are the same.

Both reach a cluster in a thread of its own, so that any client and any event loop can be used beside them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from podling.testing import faults, reports
from podling.testing.app_servers import App
from podling.testing.cluster_thread import ClusterThread
from podling.testing.https_front import Front
from podling.testing.manifests import Plain, Source
from podling.testing.operations import Condition, Operations, seconds_in
from podling.testing.settings import TestSettings

T = TypeVar("T")

WITHIN = "5m"


class _Shared:
    """The parts that need no waiting."""

    def __init__(self, thread: ClusterThread, namespace: str = "default") -> None:
        self._thread = thread
        self.namespace = namespace
        """The namespace of objects that name none."""

    @property
    def kubeconfig(self) -> Path:
        """The file of an administrator's kubeconfig; the first use opens the HTTPS server."""
        return self._thread.kubeconfig()

    @property
    def url(self) -> str:
        """The URL of the API server."""
        return self._thread.url

    @property
    def ca_pem(self) -> bytes:
        """The certificate of the cluster's authority (PEM)."""
        return self._thread.keys.ca_pem

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which other programs find the cluster."""
        return {"KUBECONFIG": str(self.kubeconfig)}

    @property
    def now(self) -> datetime:
        """The time of the cluster."""
        return self._thread.result(_now)

    def kubernetes(self) -> Any:
        """Return an ``ApiClient`` of the package ``kubernetes``."""
        import kubernetes

        return kubernetes.config.new_client_from_config(str(self.kubeconfig))  # type: ignore[no-untyped-call]

    def describe(self) -> str:
        """Return what is not as it should be, for people: explanations, timelines and events."""
        return self._thread.result(partial(reports.describe, namespace=self.namespace))

    def _namespace(self, namespace: str | None) -> str:
        return self.namespace if namespace is None else namespace


class Cluster(_Shared):
    """A cluster whose methods return when they are done, for tests that are plain functions."""

    def apply(self, source: Source, *, namespace: str | None = None) -> list[Plain]:
        """Apply a file, a folder, a text or plain objects; return the objects. Raises ``ApiError``."""
        return self._run(lambda own: own.apply(source, self._namespace(namespace)))

    def get(self, what: str, *, namespace: str | None = None) -> Plain:
        """Return the object ``TYPE/NAME``. Raises ``ApiError``."""
        return self._run(lambda own: own.get(what, self._namespace(namespace)))

    def list(self, kind: str, *, namespace: str | None = None, labels: str = "") -> list[Plain]:
        """Return the objects of a kind; those of all namespaces for ``""``. Raises ``ApiError``."""
        return self._run(lambda own: own.list(kind, self._namespace(namespace), labels))

    def patch(
        self, what: str, patch: Mapping[str, Any], *, namespace: str | None = None, subresource: str = ""
    ) -> Plain:
        """Merge ``patch`` into an object, and return it. Raises ``ApiError``."""
        return self._run(lambda own: own.patch(what, patch, self._namespace(namespace), subresource))

    def delete(self, what: str, *, namespace: str | None = None, grace_seconds: int | None = None) -> None:
        """Request the deletion of an object. Raises ``ApiError``."""
        self._run(lambda own: own.delete(what, self._namespace(namespace), grace_seconds))

    def advance(self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0) -> None:
        """Let time pass."""
        total = seconds_in(days, hours, minutes, seconds)
        self._run(lambda own: own.advance(total))

    def expect(
        self,
        what: str,
        condition: Condition = "condition=Ready",
        *,
        within: str | float = WITHIN,
        machine_seconds: float = 0,
        namespace: str | None = None,
    ) -> Plain | None:
        """Let time pass until a condition of ``kubectl wait`` holds, or a function of the object is true.

        Returns the object, None for one that was to be deleted. Raises ``ExpectationFailed``.

        Args:
            within: the most time of the cluster that may pass.
            machine_seconds: the machine's time for which time stands still at first: for an operator in
                another program, which takes a while to start or to react.
        """
        where = self._namespace(namespace)
        return self._run(lambda own: own.expect(what, condition, within, where, machine_seconds))

    def serve(self, name: str, app: App, *, seconds: float = 0, needs_endpoint: bool = False) -> None:
        """Let ``app`` answer for a webhook or an aggregated API.

        Args:
            name: the Service, ``namespace/name``, or the beginning of a URL, as the configuration names it.
            app: a function of a review's ``request``, or an ASGI application.
            seconds: the cluster's time that an answer takes.
            needs_endpoint: the Service must have a ready endpoint, and a running pod there.
        """
        self._run(lambda own: own.serve(name, app, seconds, needs_endpoint=needs_endpoint))

    @contextmanager
    def fault(self, kind: str, **options: Any) -> Iterator[None]:
        """Make a fault for as long as the block lasts; ``faults.begin`` lists the kinds."""
        server = self._thread.server() if kind == "api" else None
        mend = self._run(lambda own: faults.begin(own, kind, server, options))
        try:
            yield
        finally:
            self._run(lambda own: _awaited(mend, own))

    def kr8s(self) -> Any:
        """Return an API object of ``kr8s``."""
        import kr8s

        return kr8s.api(kubeconfig=str(self.kubeconfig))

    def lightkube(self, **options: Any) -> Any:
        """Return a ``Client`` of ``lightkube``."""
        import lightkube

        config = lightkube.KubeConfig.from_file(str(self.kubeconfig))
        return lightkube.Client(config=config, namespace=self.namespace, **options)

    @property
    def asynchronous(self) -> AsyncCluster:
        """The same cluster, for code that awaits."""
        return AsyncCluster(self._thread, self.namespace)

    def _run(self, work: Callable[[Operations], Coroutine[Any, Any, T]]) -> T:
        return self._thread.result(work)


class AsyncCluster(_Shared):
    """A cluster whose methods are awaited, for tests that are coroutines."""

    async def apply(self, source: Source, *, namespace: str | None = None) -> list[Plain]:
        """Apply a file, a folder, a text or plain objects; return the objects. Raises ``ApiError``."""
        return await self._run(lambda own: own.apply(source, self._namespace(namespace)))

    async def get(self, what: str, *, namespace: str | None = None) -> Plain:
        """Return the object ``TYPE/NAME``. Raises ``ApiError``."""
        return await self._run(lambda own: own.get(what, self._namespace(namespace)))

    async def list(self, kind: str, *, namespace: str | None = None, labels: str = "") -> list[Plain]:
        """Return the objects of a kind; those of all namespaces for ``""``. Raises ``ApiError``."""
        return await self._run(lambda own: own.list(kind, self._namespace(namespace), labels))

    async def patch(
        self, what: str, patch: Mapping[str, Any], *, namespace: str | None = None, subresource: str = ""
    ) -> Plain:
        """Merge ``patch`` into an object, and return it. Raises ``ApiError``."""
        return await self._run(lambda own: own.patch(what, patch, self._namespace(namespace), subresource))

    async def delete(
        self, what: str, *, namespace: str | None = None, grace_seconds: int | None = None
    ) -> None:
        """Request the deletion of an object. Raises ``ApiError``."""
        await self._run(lambda own: own.delete(what, self._namespace(namespace), grace_seconds))

    async def advance(
        self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0
    ) -> None:
        """Let time pass."""
        total = seconds_in(days, hours, minutes, seconds)
        await self._run(lambda own: own.advance(total))

    async def expect(
        self,
        what: str,
        condition: Condition = "condition=Ready",
        *,
        within: str | float = WITHIN,
        machine_seconds: float = 0,
        namespace: str | None = None,
    ) -> Plain | None:
        """Let time pass until a condition of ``kubectl wait`` holds, or a function of the object is true.

        Returns the object, None for one that was to be deleted. Raises ``ExpectationFailed``.

        Args:
            within: the most time of the cluster that may pass.
            machine_seconds: the machine's time for which time stands still at first: for an operator in
                another program, which takes a while to start or to react.
        """
        where = self._namespace(namespace)
        return await self._run(lambda own: own.expect(what, condition, within, where, machine_seconds))

    async def serve(self, name: str, app: App, *, seconds: float = 0, needs_endpoint: bool = False) -> None:
        """Let ``app`` answer for a webhook or an aggregated API.

        Args:
            name: the Service, ``namespace/name``, or the beginning of a URL, as the configuration names it.
            app: a function of a review's ``request``, or an ASGI application.
            seconds: the cluster's time that an answer takes.
            needs_endpoint: the Service must have a ready endpoint, and a running pod there.
        """
        await self._run(lambda own: own.serve(name, app, seconds, needs_endpoint=needs_endpoint))

    @asynccontextmanager
    async def fault(self, kind: str, **options: Any) -> AsyncIterator[None]:
        """Make a fault for as long as the block lasts; ``faults.begin`` lists the kinds."""
        server = self._thread.server() if kind == "api" else None
        mend = await self._run(lambda own: faults.begin(own, kind, server, options))
        try:
            yield
        finally:
            await self._run(lambda own: _awaited(mend, own))

    async def kr8s(self) -> Any:
        """Return an API object of ``kr8s.asyncio``."""
        import kr8s.asyncio

        return await kr8s.asyncio.api(kubeconfig=str(self.kubeconfig))

    def lightkube(self, **options: Any) -> Any:
        """Return an ``AsyncClient`` of ``lightkube``."""
        import lightkube

        config = lightkube.KubeConfig.from_file(str(self.kubeconfig))
        return lightkube.AsyncClient(config=config, namespace=self.namespace, **options)

    @property
    def blocking(self) -> Cluster:
        """The same cluster, for code that does not await."""
        return Cluster(self._thread, self.namespace)

    async def _run(self, work: Callable[[Operations], Coroutine[Any, Any, T]]) -> T:
        return await asyncio.wrap_future(self._thread.call(work))


@contextmanager
def running_cluster(settings: TestSettings | None = None, port: int = 0) -> Iterator[Cluster]:
    """Run a cluster as long as the block lasts; ``port`` is that of its HTTPS server, 0 for any."""
    thread = ClusterThread(settings or TestSettings(), Front(port=port))
    thread.start()
    try:
        yield Cluster(thread)
    finally:
        thread.stop()


async def _now(operations: Operations) -> datetime:
    return operations.winding.status().now


async def _awaited(mend: faults.Mend, operations: Operations) -> None:
    await mend(operations)
    await operations.settle()

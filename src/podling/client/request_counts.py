"""Counts of the requests of this process's components, as client-go keeps them in separate processes.

Source of names and labels: ``component-base/metrics/prometheus/restclient``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any, TypeVar

from podling import clock
from podling.api.meta_v1 import DeleteOptions
from podling.client.base import Listing, WatchEvent
from podling.client.requests import Backend, ListOptions, Patch, Target, User, WriteOptions
from podling.machinery.errors import ApiError
from podling.machinery.histograms import Histogram, counters, histograms

REQUEST_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
FAILED = "<error>"
"""The code of a request that has no answer."""

T = TypeVar("T")


class CountedBackend:
    """A ``Backend`` that counts. ``host``: the server's address on the network."""

    def __init__(self, backend: Backend, host: Callable[[], str]) -> None:
        self._backend, self._host = backend, host
        self._requests: dict[tuple[str, str], int] = {}
        self._durations: dict[str, Histogram] = {}

    async def get(self, target: Target, user: User) -> Any:
        return await self._counted("GET", "200", self._backend.get(target, user))

    async def list(self, target: Target, user: User, options: ListOptions) -> Listing[Any]:
        return await self._counted("GET", "200", self._backend.list(target, user, options))

    def watch(self, target: Target, user: User, options: ListOptions) -> AsyncIterator[WatchEvent[Any]]:
        """Counted as it begins."""
        code = FAILED
        try:
            watch = self._backend.watch(target, user, options)
            code = "200"
            return watch
        except ApiError as error:
            code = str(error.code)
            raise
        finally:
            self._count("GET", code)

    async def create(self, target: Target, user: User, body: Any, options: WriteOptions) -> Any:
        return await self._counted("POST", "201", self._backend.create(target, user, body, options))

    async def update(self, target: Target, user: User, body: Any, options: WriteOptions) -> Any:
        return await self._counted("PUT", "200", self._backend.update(target, user, body, options))

    async def patch(self, target: Target, user: User, patch: Patch, options: WriteOptions) -> Any:
        return await self._counted("PATCH", "200", self._backend.patch(target, user, patch, options))

    async def delete(self, target: Target, user: User, options: DeleteOptions) -> Any:
        return await self._counted("DELETE", "200", self._backend.delete(target, user, options))

    async def delete_collection(
        self, target: Target, user: User, selection: ListOptions, options: DeleteOptions
    ) -> Sequence[Any]:
        work = self._backend.delete_collection(target, user, selection, options)
        return await self._counted("DELETE", "200", work)

    async def _counted(self, method: str, good: str, work: Awaitable[T]) -> T:
        started, code = clock.monotonic(), FAILED
        try:
            answer = await work
            code = good
            return answer
        except ApiError as error:
            code = str(error.code)
            raise
        finally:
            self._count(method, code)
            found = self._durations.get(method)
            if found is None:
                found = self._durations[method] = Histogram(REQUEST_SECONDS)
            found.observe(clock.monotonic() - started)

    def _count(self, method: str, code: str) -> None:
        key = (code, method)
        self._requests[key] = self._requests.get(key, 0) + 1

    def collect(self) -> Iterator[Any]:
        """Yield the families, as ``prometheus_client`` collectors give them."""
        host = self._host()
        requests = {(code, host, method): count for (code, method), count in self._requests.items()}
        text = "[ALPHA] Number of HTTP requests, partitioned by status code, method, and host."
        yield counters("rest_client_requests", text, ("code", "host", "method"), requests)
        durations = {(host, method): found for method, found in self._durations.items()}
        text = "[ALPHA] Request latency in seconds. Broken down by verb, and host."
        yield histograms("rest_client_request_duration_seconds", text, ("host", "verb"), durations)

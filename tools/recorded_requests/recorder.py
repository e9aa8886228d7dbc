"""Sends requests over HTTPS and records each complete answer."""

from __future__ import annotations

import http.client
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlencode
from zlib import crc32

from tools.recorded_requests.recording import Entry, Writer
from tools.recorded_requests.server import Server

Json = dict[str, Any]
Body = Json | list[Any] | str | bytes | None
Query = Mapping[str, str | int]
JSON = "application/json"
ANSWER_SECONDS = 30
SETTLED_SECONDS = 60
WATCHERS = 16
DEFAULT_MANAGER = "zz"
"""The manager of requests that name none, from the User-Agent; the last one in managed fields."""
FLOW_CONTROL_REQUESTS = 10_000
PRIORITY_LEVEL = "x-kubernetes-pf-prioritylevel-uid"


class Recorder:
    """Sends the scenario's requests one after the other on one connection.

    A request's key is its group and its name; a name that comes again gets a number. Groups count requests in
    the summary of a recording.

    Args:
        every: send one of so many of the requests that are samples.
    """

    def __init__(self, server: Server, writer: Writer, every: int = 1) -> None:
        self._server, self._writer, self._every = server, writer, every
        self._group = ""
        self._seen = Counter[str]()
        self.covered = Counter[str]()
        self._connections = {True: self._connection(), False: self._connection(administrator=False)}
        self._watches: list[Entry] = []

    def group(self, name: str) -> None:
        """Begin a group of requests."""
        self._group = name

    def send(
        self,
        name: str,
        method: str,
        path: str,
        body: Body = None,
        *,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
        administrator: bool = True,
    ) -> Entry:
        """Send a request and record the answer; a body that is a dict or a list is sent as JSON."""
        entry = _request(self._key(name), method, path, body, query, headers)
        answered = _exchange(self._connections[administrator], entry)
        self._write(answered)
        return answered

    def sample(
        self,
        name: str,
        method: str,
        path: str,
        body: Body = None,
        *,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Send a request that no other one depends on, if the key's checksum chooses it."""
        key = self._key(name)
        if is_chosen(key, self._every):
            self._write(_exchange(self._connections[True], _request(key, method, path, body, query, headers)))

    def watch_later(
        self, name: str, path: str, query: Query, headers: Mapping[str, str] | None = None
    ) -> None:
        """Note a watch, which ``send_watches`` sends, if the key's checksum chooses it."""
        key = self._key(name)
        if is_chosen(key, self._every):
            query = {"watch": "true", "timeoutSeconds": 1, **query}
            self._watches.append(_request(key, "GET", path, None, query, headers))

    def send_watches(self) -> None:
        """Send all noted watches side by side: each lasts a second, and nothing changes meanwhile."""

        def answered(entry: Entry) -> Entry:
            return _exchange(self._connection(), entry)

        with ThreadPoolExecutor(WATCHERS) as pool:
            for entry in pool.map(answered, self._watches):
                self._write(entry)
        self._watches.clear()

    def wait(self, path: str, name: str, is_reached: Callable[[Json | None], bool]) -> Json | None:
        """Wait on a watch until an object is in a state, and return it, None when it is gone; record nothing.

        Raises:
            TimeoutError: the state was not reached.
        """
        connection = self._connection()
        query = {"fieldSelector": f"metadata.name={name}"}
        try:
            connection.request("GET", f"{path}?{urlencode(query)}")
            found = json.loads(connection.getresponse().read())
            now: Json | None = next(iter(found["items"]), None)
            if is_reached(now):
                return now
            query |= {"watch": "true", "timeoutSeconds": str(SETTLED_SECONDS)}
            query["resourceVersion"] = found["metadata"]["resourceVersion"]
            connection.request("GET", f"{path}?{urlencode(query)}")
            for line in connection.getresponse():
                event = json.loads(line)
                now = None if event["type"] == "DELETED" else event["object"]
                if is_reached(now):
                    return now
        finally:
            connection.close()
        raise TimeoutError(f"{path}/{name} did not reach its state")

    def objects(self, path: str) -> list[Json]:
        """Return all objects of a collection; records nothing."""
        found: list[Json] = _exchange(self._connections[True], Entry("", "GET", path)).json()["items"]
        return found

    def wait_for_flow_control(self) -> None:
        """Send requests until answers name their priority level, which nothing else shows; records nothing.

        Raises:
            TimeoutError: they do not.
        """
        for _ in range(FLOW_CONTROL_REQUESTS):
            if _exchange(self._connections[True], Entry("", "GET", "/version")).header(PRIORITY_LEVEL):
                return
        raise TimeoutError("no answer names its priority level")

    def _key(self, name: str) -> str:
        key = f"{self._group}: {name}"
        self._seen[key] += 1
        if self._seen[key] > 1:
            key = f"{key} #{self._seen[key]}"
        return key

    def _write(self, entry: Entry) -> None:
        self.covered[entry.key.partition(": ")[0]] += 1
        self._writer.write(entry)

    def _connection(self, *, administrator: bool = True) -> http.client.HTTPSConnection:
        server = self._server
        context = server.administrator if administrator else server.anonymous
        return http.client.HTTPSConnection(server.host, server.port, timeout=ANSWER_SECONDS, context=context)


def is_chosen(key: str, every: int) -> bool:
    """Return whether a sample is sent: one of ``every`` is, and the choice depends on nothing but the key."""
    return crc32(key.encode()) % every == 0


def _request(
    key: str, method: str, path: str, body: Body, query: Query | None, headers: Mapping[str, str] | None
) -> Entry:
    sent = {"Accept": JSON, "User-Agent": f"{DEFAULT_MANAGER}/1", **(headers or {})}
    if isinstance(body, dict | list):
        body = json.dumps(body)
        sent.setdefault("Content-Type", JSON)
    data = body.encode() if isinstance(body, str) else body or b""
    target = f"{path}?{urlencode(query)}" if query else path
    return Entry(key, method, target, tuple(sent.items()), data)


def _exchange(connection: http.client.HTTPSConnection, entry: Entry) -> Entry:
    """Send a request and return it with its answer."""
    try:
        connection.putrequest(
            entry.method, entry.target, skip_accept_encoding=_names(entry.request_headers, "accept-encoding")
        )
        for name, value in entry.request_headers:
            connection.putheader(name, value)
        if entry.request_body or entry.method in ("POST", "PUT", "PATCH"):
            connection.putheader("Content-Length", str(len(entry.request_body)))
        connection.endheaders(entry.request_body or None)
        answer = connection.getresponse()
        body = answer.read()
    except (http.client.HTTPException, ConnectionError, TimeoutError) as error:
        connection.close()
        return _answered(entry, 0, type(error).__name__, (), b"")
    return _answered(entry, answer.status, answer.reason, answer.getheaders(), body)


def _answered(
    entry: Entry, status: int, reason: str, headers: Sequence[tuple[str, str]], body: bytes
) -> Entry:
    return Entry(
        entry.key,
        entry.method,
        entry.target,
        entry.request_headers,
        entry.request_body,
        status,
        reason,
        tuple(headers),
        body,
    )


def _names(headers: Sequence[tuple[str, str]], name: str) -> bool:
    return any(each.lower() == name for each, _ in headers)

"""HTTP on a bare socket, for requests that no client library would send."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer; ``body`` is empty for an endless one, such as a watch."""

    code: int
    headers: dict[str, str]
    body: bytes


class Wire:
    """One connection to a port of this machine, opened again whenever the server has closed it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def exchange(self, method: str, path: bytes, headers: dict[str, str], body: bytes | None) -> Answer:
        """Send one request and read its answer, byte for byte as given."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        fields = {"Host": "server", **headers}
        if body is not None:
            fields["Content-Length"] = str(len(body))
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items()).encode()
        writer.write(method.encode() + b" " + path + b" HTTP/1.1\r\n" + head + b"\r\n" + (body or b""))
        status, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        found = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in lines)}
        code = int(status.split(" ")[1])
        if "chunked" in found.get("transfer-encoding", ""):
            self.close()
            return Answer(code, found, b"")
        silent = method == "HEAD" or code in (204, 304)
        data = b"" if silent else await reader.readexactly(int(found.get("content-length", "0")))
        # A malformed request is answered in HTTP/1.0, where the connection marks the end.
        if found.get("connection", "").lower() == "close" or status.startswith("HTTP/1.0"):
            self.close()
        return Answer(code, found, data)

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


class Caller:
    """Sends requests as an administrator. Headers are given in snake case; a text body is sent unchanged."""

    def __init__(self, port: int) -> None:
        self.wire = Wire(port)

    async def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        text = body if isinstance(body, str) else json.dumps(body)
        data = None if body is None else text.encode()
        return await self.wire.exchange(method, path.encode(), {"Authorization": "Bearer me", **named}, data)

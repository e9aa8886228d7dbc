"""The other side of the protocol: extenders that answer requests, as programs of others do."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from podling import clock
from podling.scheduler.configuration.types import Extender, ManagedResource
from podling.scheduler.extenders.http_extender import ExtenderFailed, HttpExtender

Reply = Callable[[dict[str, Any]], Any]


class Remote:
    """An extender: its replies by verb, and the requests that it got.

    Args:
        seconds: the time that an answer takes.
    """

    def __init__(self, seconds: float = 0, **replies: Reply) -> None:
        self.seconds = seconds
        self.replies: Mapping[str, Reply] = replies
        self.requests: list[tuple[str, dict[str, Any]]] = []

    async def send(self, url: str, body: bytes) -> tuple[int, bytes]:
        verb = url.rpartition("/")[2]
        self.requests.append((verb, json.loads(body)))
        if self.seconds:
            await clock.sleep(self.seconds)
        if verb not in self.replies:
            raise ExtenderFailed(f'Post "{url}": connection refused', is_doubtful=True)
        reply = self.replies[verb](json.loads(body))
        return (reply, b"") if isinstance(reply, int) else (200, json.dumps(reply).encode())

    def extender(self, **fields: Any) -> HttpExtender:
        return HttpExtender(config(**fields), self.send)

    @property
    def verbs(self) -> list[str]:
        return [verb for verb, _ in self.requests]


def config(*managed: str, **fields: Any) -> Extender:
    """Return a configuration; the verbs that are not given are not supported."""
    resources = tuple(ManagedResource(name=name) for name in managed)
    return Extender(**{"url_prefix": "http://extender/", "managed_resources": resources, **fields})


def names_of(request: dict[str, Any]) -> list[str]:
    """Return the nodes of a filter or prioritize request, which come whole or by name."""
    if request["NodeNames"] is not None:
        return list(request["NodeNames"])
    return [node["metadata"]["name"] for node in request["Nodes"]["items"]]


def only(*names: str, **more: Any) -> Reply:
    """Accept these nodes."""

    def reply(request: dict[str, Any]) -> Any:
        left = [name for name in names_of(request) if name in names]
        if request["NodeNames"] is not None:
            return {"NodeNames": left, **more}
        return {"Nodes": {"items": [{"metadata": {"name": name}} for name in left]}, **more}

    return reply


def prefer(**scores: int) -> Reply:
    return lambda _: [{"Host": name, "Score": score} for name, score in scores.items()]

"""Health endpoints: ``/healthz``, ``/livez``, ``/readyz`` and a path below each for every check.

The summary is open to every client and withholds the reasons of failures. A request for a single check
returns the reason. The results are counted for ``/metrics/slis``.

Upstream: ``apiserver/pkg/server/healthz``, ``component-base/metrics/prometheus/slis``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from aiohttp import web

from podling.apiserver.http.exchange import HttpRequest
from podling.apiserver.http.replies import NO_SNIFFING, TEXT, reply
from podling.machinery.histograms import counters, gauges

Check = Callable[[], str]
"""A health check: empty when all is well, else what is wrong."""

READYZ = "readyz"
ENDPOINTS = ("healthz", "livez", READYZ)
PING = "ping"
_SUCCESS, _ERROR = "success", "error"


class Health:
    """Answers from ``checks``, by their names, and from ``ping``, which always works.

    ``ready_checks`` belong to ``/readyz`` alone: restarting the server would cure none of what they find.
    """

    def __init__(self, checks: Mapping[str, Check], ready_checks: Mapping[str, Check] | None = None) -> None:
        common = {PING: lambda: "", **checks}
        self._checks = dict.fromkeys(ENDPOINTS, common) | {READYZ: common | dict(ready_checks or {})}
        """By endpoint and name."""
        self._said: dict[tuple[str, str, str], int] = {}
        """Number of results, by check, result and endpoint."""
        self._last: dict[tuple[str, str], float] = {}

    def paths(self) -> list[str]:
        return [
            f"/{each}{name}"
            for each, checks in self._checks.items()
            for name in ("", *(f"/{name}" for name in checks))
        ]

    def serves(self, parts: list[str]) -> bool:
        """Return whether a path, taken apart, is one of ``paths``."""
        endpoint, _, name = "/".join(parts).partition("/")
        return endpoint in ENDPOINTS and (parts == [endpoint] or name in self._checks[endpoint])

    async def serve(self, request: HttpRequest, parts: list[str]) -> web.StreamResponse:
        endpoint, _, name = "/".join(parts).partition("/")
        if name:
            wrong = self._checks[endpoint][name]()
            body, code = (f"internal server error: {wrong}\n", 500) if wrong else ("ok", 200)
        else:
            lines, failed = self._lines(endpoint, set(request.query.getall("exclude", ())))
            body, code = "ok", 500 if failed else 200
            if failed or "verbose" in request.query:
                body = "".join([*lines, f"{endpoint} check {'failed' if failed else 'passed'}\n"])
        return await reply(request, body.encode(), code=code, media_type=TEXT, headers=NO_SNIFFING)

    def _lines(self, endpoint: str, excluded: set[str]) -> tuple[list[str], bool]:
        """Return a line for each check, and whether any of them failed."""
        lines, failed = [], False
        for name, check in self._checks[endpoint].items():
            if name in excluded:
                lines.append(f"[+]{name} excluded: ok\n")
                continue
            wrong = check()
            self._count(endpoint, name, wrong)
            failed = failed or bool(wrong)
            lines.append(f"[-]{name} failed: reason withheld\n" if wrong else f"[+]{name} ok\n")
        unknown = sorted(excluded - self._checks[endpoint].keys())
        if unknown:
            names = ", ".join(f'"{each}"' for each in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}\n")
        return lines, failed

    def _count(self, endpoint: str, name: str, wrong: str) -> None:
        key = (name, _ERROR if wrong else _SUCCESS, endpoint)
        self._said[key] = self._said.get(key, 0) + 1
        self._last[name, endpoint] = 0.0 if wrong else 1.0

    def collect(self) -> Iterator[Any]:
        """Yield the results of the checks as metric families of ``prometheus_client``."""
        text = "[STABLE] This metric records the result of a single healthcheck."
        yield gauges("kubernetes_healthcheck", text, ("name", "type"), self._last)
        names = ("name", "status", "type")
        text = "[STABLE] This metric records the results of all healthcheck."
        yield counters("kubernetes_healthchecks", text, names, self._said)

"""Load on an API server, and a ledger of the acknowledged writes, which must be there at the end.

Each writer has objects of its own, so that the last acknowledged value of each is known. A write that was
refused or not answered may or may not have happened; the next read of the object decides.
"""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

MAPS = "/api/v1/namespaces/default/configmaps"
TIMEOUT_SECONDS = 20.0
PAUSE_SECONDS = 0.02
ABSENT = -1


class Connection:
    """One connection to the API server, opened again when it breaks."""

    def __init__(self, kubeconfig: Path, token: str) -> None:
        cluster = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        address = urlsplit(cluster["server"])
        self._http = http.client.HTTPSConnection(
            address.hostname or "",
            address.port,
            timeout=TIMEOUT_SECONDS,
            context=ssl.create_default_context(cadata=authority),
        )
        self._token = token

    def request(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """Return status code and decoded body. Raises ``OSError`` or ``HTTPException`` without an answer."""
        try:
            self._http.request(
                method,
                path,
                json.dumps(body) if body is not None else None,
                {"Authorization": f"Bearer {self._token}", "Content-Type": kind},
            )
            answer = self._http.getresponse()
            return answer.status, json.loads(answer.read())
        except BaseException:
            self._http.close()
            raise

    def lines(self, path: str) -> Iterator[bytes]:
        """Yield the lines of an answer as they come. Raises what ``request`` raises."""
        self._http.request("GET", path, headers={"Authorization": f"Bearer {self._token}"})
        answer = self._http.getresponse()
        while line := answer.readline():
            yield line

    def close(self) -> None:
        self._http.close()


class Writer(threading.Thread):
    """Creates, patches and deletes ConfigMaps of its own until ``stop``."""

    def __init__(self, name: str, connection: Connection, stop: threading.Event) -> None:
        super().__init__(name=name, daemon=True)
        self.acknowledged: dict[str, int] = {}
        """The last acknowledged value of each object; ``ABSENT`` after a deletion."""
        self.uncertain: dict[str, set[int]] = {}
        """Values that writes without acknowledgement may have left since."""
        self.results: Counter[str] = Counter()
        self._connection = connection
        self._stop_now = stop
        self._number = 0

    def run(self) -> None:
        while not self._stop_now.wait(PAUSE_SECONDS):
            self._step()
        self._connection.close()

    def _step(self) -> None:
        self._number += 1
        name = f"{self.name}-{self._number % 7}"
        last = self.acknowledged.get(name, ABSENT)
        if self.uncertain.get(name):
            self._look(name)
        elif last == ABSENT:
            body = {"metadata": {"name": name}, "data": {"n": str(self._number)}}
            self._write(name, self._number, "POST", MAPS, body)
        elif self._number % 5 == 0:
            self._write(name, ABSENT, "DELETE", f"{MAPS}/{name}")
        else:
            body = {"data": {"n": str(self._number)}}
            self._write(name, self._number, "PATCH", f"{MAPS}/{name}", body)

    def lost(self, found: dict[str, int]) -> list[str]:
        """Return the differences between the ledger and the values ``found`` on the server."""
        return [
            f"{name}: acknowledged {value}, found {found.get(name, ABSENT)}"
            for name, value in self.acknowledged.items()
            if found.get(name, ABSENT) not in {value, *self.uncertain.get(name, ())}
        ]

    def _write(self, name: str, value: int, method: str, path: str, body: Any = None) -> None:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        try:
            code, answer = self._connection.request(method, path, body, kind)
        except (OSError, http.client.HTTPException) as error:
            self.results[type(error).__name__] += 1
            self.uncertain.setdefault(name, set()).add(value)
            return
        self.results[f"{code}" if code < 300 else f"{code} {answer.get('message')}"] += 1
        if code < 300:
            self.acknowledged[name] = value
            self.uncertain.pop(name, None)
        else:
            self.uncertain.setdefault(name, set()).add(value)

    def _look(self, name: str) -> None:
        """Read an object whose last write had no acknowledgement."""
        with suppress(OSError, http.client.HTTPException):
            code, answer = self._connection.request("GET", f"{MAPS}/{name}")
            self.results[f"GET {code}"] += 1
            found = int(answer["data"]["n"]) if code == 200 else ABSENT
            allowed = {self.acknowledged.get(name, ABSENT), *self.uncertain[name]}
            if code in (200, 404):
                self.results["lost"] += found not in allowed
                self.acknowledged[name] = found
                self.uncertain.pop(name)


def values(connection: Connection) -> dict[str, int]:
    """Return the server's values of every writer's objects."""
    _, answer = connection.request("GET", MAPS)
    return {
        item["metadata"]["name"]: int(item["data"]["n"])
        for item in answer["items"]
        if "n" in item.get("data", {})
    }

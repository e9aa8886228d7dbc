"""Twenty thousand requests of every kind, made from the OpenAPI document that is published, and spoiled.

The server may refuse what it likes, but it answers, soon, in its own words, and never with an internal error.
The same requests are sent every time: each thousand has a seed of its own, and a failure names its seed
and shows the request.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from copy import deepcopy
from dataclasses import dataclass, field
from random import Random  # noqa: TID251 (seeded: the same requests every time)
from typing import Any
from urllib.parse import quote

import pytest

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.apiserver.admission.registry import plugins_without_controllers
from podling.apiserver.app import HttpServer, Serving
from podling.apiserver.server import ApiServer
from podling.client.base import Client
from podling.client.local import User
from podling.machinery.custom import is_established
from podling.store.memory import MemoryStore
from tests.support.fuzzed_api import Operation, definitions, operations
from tests.support.manifests import PLAIN_POD, merged
from tests.support.nonsense import WORDS, mixed, nonsense
from tests.support.schema_nonsense import Bodies
from tests.support.wire import Wire

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SEEDS = range(20)
REQUESTS = 1_000
ANSWER_SECONDS = 10.0
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW")
NAMES = ("x", "y", "default", "kube-system", "a.b", "A_B", "ä", "%", "..", "x" * 300, "")
MEDIA_TYPES = (
    "application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "text/plain", "", "*/*",
    "application/json; charset=utf-8", "application/xml", "multipart/form-data", ";;;", "json",
)  # fmt: skip
PATCH_TYPES = (
    "application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)  # fmt: skip
ACCEPTS = (
    "application/json", "application/yaml", "*/*", "", "text/html",
    "application/json;as=Table;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "application/json;as=Table;v=v9",
    "application/vnd.kubernetes.protobuf,application/json", ",;=,",
    "application/json;as=PartialObjectMetadataList",
)  # fmt: skip
OPTIONS = (
    "labelSelector", "fieldSelector", "resourceVersion", "resourceVersionMatch", "limit", "continue", "watch",
    "timeoutSeconds", "allowWatchBookmarks", "sendInitialEvents", "dryRun", "fieldManager", "fieldValidation",
    "force", "pretty", "gracePeriodSeconds", "propagationPolicy", "orphanDependents", "includeObject",
    "preconditions.uid", "container", "command", "tailLines", "sinceTime", "path", "ignored", "\0",
)  # fmt: skip
VALUES = (
    *WORDS, "true", "false", "All", "Strict", "Warn", "Ignore", "1e9", "9" * 30, "a=b", "a in (b,c)", "!a",
    "a=",
    "a in (", "spec.nodeName=n", "metadata.name=x", "status.phase!=Running", "Exact", "NotOlderThan",
    "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJ4In0", "e30", "Foreground", "Orphan", "None",
)  # fmt: skip
RAW_BODIES = (
    b"", b"{", b"null", b"[]", b'"x"', b"3", b"{}", b"\xff\xfe", b"k8s\0", b"k8s\0\n\x06", b"- a\n- b\n",
    b"a: &x [*x]",
    b'{"a":1,"a":2}', b"[" * 3_000, b'{"a":' * 3_000, b'{"metadata":null}', b'{"metadata":{"name":3}}',
    b"!!python/x {}",
    b'{"kind":"List","items":[]}', b'{"spec":"\\ud800"}', b"1e999", b'{"x":1e999}', b"9" * 400,
    b"a: 2026-01-01",
    b"--- {}\n--- {}", b'{"metadata":{"labels":{"a":null}}}', b'{"metadata":{"$patch":"delete"}}',
)  # fmt: skip

AS_KUBERNETES = (
    (500, "resourceVersion should not be set on objects to be created"),
    (500, "failed to create typed patch object"),
    (500, "the spec replicas field"),
    (503, "this server reaches no nodes"),
    (504, "Too large resource version"),
)
"""What Kubernetes, too, answers in the five hundreds: all of it is foreseen."""

LOGS = ("podling", "asyncio")
"""Who may not complain. aiohttp itself says when something was no HTTP at all."""


@dataclass(slots=True)
class Requests:
    """Makes requests; ``stored`` remembers bodies that were sent, so that changes come upon something."""

    random: Random
    operations: list[Operation]
    bodies: Bodies
    stored: dict[str, Any] = field(default_factory=dict)

    def one(self) -> tuple[str, bytes, dict[str, str], bytes | None]:
        random = self.random
        operation = random.choice(self.operations if random.random() < 0.9 else self._custom())
        method = operation.method if random.random() < 0.9 else random.choice(METHODS)
        headers = {"Authorization": "Bearer fuzz"}
        if random.random() < 0.3:
            headers["Accept"] = random.choice(ACCEPTS)
        if random.random() < 0.03:
            headers["Impersonate-User"] = random.choice(("bob", "", "system:node:x"))
        body = self._body(operation, method) if method in ("POST", "PUT", "PATCH", "DELETE") else None
        headers["Content-Type"] = self._content_type(method)
        return method, self._path(operation, method), headers, body

    def _custom(self) -> list[Operation]:
        """Those that few documents have: they are asked more often than their number says."""
        return [each for each in self.operations if "/fuzz.example.com/" in each.path]

    def _content_type(self, method: str) -> str:
        if self.random.random() < 0.1:
            return self.random.choice((*MEDIA_TYPES, *PATCH_TYPES))
        return self.random.choice(PATCH_TYPES) if method == "PATCH" else "application/json"

    def _path(self, operation: Operation, method: str) -> bytes:
        random, path = self.random, operation.path
        odd = random.random() < 0.1
        name = random.choice(NAMES) if odd else random.choice(("x", "y"))
        namespace = random.choice(NAMES) if odd else "default"
        path = path.replace("{name}", quote(name)).replace("{namespace}", quote(namespace))
        path = path.replace("{path}", "a/b").replace("{logpath}", "a")
        if random.random() < 0.03:
            position = random.randrange(len(path))
            path = (
                path[:position]
                + random.choice(("/", "//", "%2f", "%00", "%zz", "é", "..", "x"))
                + path[position:]
            )
        query = [f"{quote(option)}={quote(value)}" for option, value in self._options(method)]
        if random.random() < 0.02:
            query.append(random.choice(("&&", "=", "%", "watch", "a=b=c", "%ff=%fe")))
        return (path + ("?" + "&".join(query) if query else "")).encode()

    def _options(self, method: str) -> list[tuple[str, str]]:
        random = self.random
        given = [
            (random.choice(OPTIONS), random.choice(VALUES)) for _ in range(random.choice((0, 0, 0, 1, 1, 3)))
        ]
        return given + ([("fieldManager", "fuzz")] if method == "PATCH" and random.random() < 0.8 else [])

    def _body(self, operation: Operation, method: str) -> bytes | None:
        random = self.random
        if random.random() < 0.08:
            return random.choice((*RAW_BODIES, None))
        if method == "DELETE":
            return json.dumps(self._delete_options()).encode() if random.random() < 0.3 else None
        if method == "PATCH" and random.random() < 0.35:
            return json.dumps(self._json_patch()).encode()
        plain = self._object(operation)
        if method == "PATCH" and random.random() < 0.5:
            self._spoil(
                plain, ("$patch", "$retainKeys", "$setElementOrder/containers", "$deleteFromPrimitiveList/a")
            )
        if random.random() < 0.3:
            self._spoil(plain, ("x", "kind", "metadata", "spec", "status", "items"))
        return json.dumps(plain).encode()

    def _object(self, operation: Operation) -> dict[str, Any]:
        """One that decodes, and may well be stored; now and then much like the one before it."""
        random, kind = self.random, operation.kind
        if kind is None:
            return self._custom_object(operation)
        base = PLAIN_POD if kind.__name__ == "Pod" else {}
        if random.random() < 0.5:
            base = mixed(random, base, self.stored.get(operation.path, {}))
        # A copy: what is spoilt below is shared with other requests, and with other tests.
        plain: dict[str, Any] = deepcopy(
            merged(base, nonsense(random, kind, random.choice((0.0, 0.02, 0.1, 0.4))))
        )
        name = random.choice(("x", "y"))
        metadata = {"name": name} | ({"namespace": "default"} if "{namespace}" in operation.path else {})
        plain["metadata"] = (
            metadata if random.random() < 0.8 else merged(plain.get("metadata") or {}, metadata)
        )
        version, _, _ = operation.path.removeprefix("/apis/").removeprefix("/api/").partition("/namespaces")
        if random.random() < 0.5:
            plain |= {"kind": kind.__name__, "apiVersion": "/".join(version.split("/")[:2])}
        self.stored[operation.path] = plain
        return plain

    def _custom_object(self, operation: Operation) -> dict[str, Any]:
        """What the document says of a body, under a name that others use too."""
        plain = self.bodies.body(operation.schema) if operation.schema else {}
        if not isinstance(plain, dict):
            plain = {}
        if self.random.random() < 0.5:
            plain = mixed(self.random, plain, self.stored.get(operation.path, {}))
        plain = deepcopy(plain)
        if self.random.random() < 0.9:
            plain["metadata"] = {"name": self.random.choice(("x", "y"))}
            for name in ("kind", "apiVersion"):
                plain.pop(name, None)
        self.stored[operation.path] = plain
        return plain

    def _delete_options(self) -> dict[str, Any]:
        random = self.random
        return {
            "gracePeriodSeconds": random.choice((0, 1, -1, 2**70, "x", None)),
            "propagationPolicy": random.choice((None, "Orphan", "Foreground", "", "x")),
            "preconditions": random.choice((None, {}, {"uid": "x"}, {"resourceVersion": "1"}, 3)),
        }

    def _json_patch(self) -> Any:
        random = self.random
        paths = ("", "/", "/spec", "/metadata/labels/a", "/metadata/name", "/a/b/c", "/spec/containers/0",
        "x", "/~2",
                 "/spec/containers/-", "/spec/containers/99", "/metadata/resourceVersion", 3,
                 None)  # fmt: skip
        return [
            {
                "op": random.choice(("add", "remove", "replace", "move", "copy", "test", "x", None)),
                "path": random.choice(paths),
                "from": random.choice(paths),
                "value": random.choice((None, 1, "x", [], {}, {"a": "b"}, [None])),
            }
            for _ in range(random.choice((0, 1, 1, 2)))
        ]

    def _spoil(self, plain: Any, keys: tuple[str, ...]) -> None:
        """Put something of another type, or a directive, somewhere inside."""
        random = self.random
        while isinstance(plain, dict):
            inner = [value for value in plain.values() if value and isinstance(value, dict | list)]
            if not inner or random.random() < 0.3:
                known = random.choice((*keys, *plain))
                plain[known] = random.choice(
                    (None, "delete", "replace", "merge", 1, 2.5, True, [], [1], {}, {"a": 1})
                )
                return
            plain = random.choice(inner)
            if isinstance(plain, list):
                if random.random() < 0.3:
                    plain.append(
                        random.choice((None, 3, "x", [], {}, {"$patch": "delete"}, {"$patch": "replace"}))
                    )
                    return
                plain = random.choice(plain)


@pytest.fixture
async def port() -> AsyncIterator[int]:
    store = MemoryStore()
    admin = User("fuzz", ("system:masters",))
    api = ApiServer(store, plugins_without_controllers(), static_tokens={"fuzz": admin})
    await api.start()
    for each in definitions():
        await api.client().create(each)
    await established(api.client(), len(definitions()))
    http = HttpServer(api, api.authenticator, Serving(port=0))
    await http.start()
    try:
        yield http.port
    finally:
        await http.stop()
        await api.stop()
        await store.close()


async def established(client: Client, count: int) -> None:
    """Wait until so many definitions are served."""
    found: set[str | None] = set()
    watch = client.watch(CustomResourceDefinition, resource_version="")
    async for event in watch:
        found |= {event.object.metadata.name} if is_established(event.object) else set()
        if len(found) == count:
            break
    await watch.aclose()  # type: ignore[attr-defined]


async def published(wire: Wire) -> dict[str, Any]:
    """The document that clients read."""
    answer = await wire.ask("GET", b"/openapi/v2", {"Authorization": "Bearer fuzz"}, None)
    document: dict[str, Any] = json.loads(answer.body)
    return document


async def test_everything_that_is_served_is_asked(port: int) -> None:
    wire = Wire(port)
    asked = operations(await published(wire))
    assert {each.method for each in asked} >= {"GET", "POST", "PUT", "PATCH", "DELETE"}
    found = await wire.ask("GET", b"/apis", {"Authorization": "Bearer fuzz"}, None)
    for group in json.loads(found.body)["groups"]:
        for version in group["versions"]:
            assert any(f"/apis/{version['groupVersion']}/" in each.path for each in asked), version
    paths = {each.path for each in asked}
    assert {"/apis/fuzz.example.com/v1/namespaces/{namespace}/widgets/{name}/scale", "/api/v1/nodes"} <= paths
    wire.close()


@pytest.mark.parametrize("seed", SEEDS)
async def test_every_request_gets_a_foreseen_answer(
    seed: int, port: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    wire, random = Wire(port), Random(seed)
    document = await published(wire)
    requests = Requests(random, operations(document), Bodies(random, document["definitions"]))
    for number in range(REQUESTS):
        method, path, headers, body = requests.one()
        asked = f"request {number}: {method} {path!r} {headers} {(body or b'')[:2000]!r}"
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                answer = await wire.ask(method, path, headers, body)
        except (TimeoutError, OSError, asyncio.IncompleteReadError) as error:
            pytest.fail(f"no answer ({error!r}) to {asked}")
        if answer.code >= 500 and method != "HEAD":
            text = answer.body.decode()
            assert any(answer.code == code and words in text for code, words in AS_KUBERNETES), (
                f"{text} to {asked}"
            )
        assert not [record for record in caplog.records if record.name.startswith(LOGS)], asked
    wire.close()

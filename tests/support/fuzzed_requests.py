"""Sequences of requests as a strategy, made from the OpenAPI document that a server publishes.

A sequence uses few resources, so that its requests affect each other's objects. Its bodies are valid
objects, such objects with something changed, what the schemas allow, or nonsense. Each request is drawn as
two strings of bytes, whose decisions ``Choices`` takes: one draw each is quick, and shrinks well.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st

from podling.machinery.encoding.plain import copied
from tests.support.choices import Choices
from tests.support.fuzzed_api import Operation, custom_objects, operations
from tests.support.manifests import merged, valid_objects
from tests.support.nonsense import WORDS
from tests.support.published_bodies import WRONG, Body

LONGEST, HEAD = 40, 24
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW")
NAMES = (
    "default", "kube-system", "widgets.fuzz.example.com", "a.b", "A_B", "ä", "%", "..", "x" * 300, "",
)  # fmt: skip
MEDIA_TYPES = (
    "application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "text/plain", "", "*/*",
    "application/json; charset=utf-8", "application/xml", "multipart/form-data", ";;;", "json",
)  # fmt: skip
PATCH_TYPES = (
    "application/merge-patch+json", "application/json-patch+json", "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)  # fmt: skip
ACCEPTS = (
    "application/json", "application/yaml", "*/*", "", "text/html",
    "application/json;as=Table;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "application/json;as=Table;v=v9",
    "application/vnd.kubernetes.protobuf,application/json", ",;=,",
    "application/json;as=PartialObjectMetadataList",
)  # fmt: skip
LAST = ("LAST-CONTINUE", "LAST-REVISION", "LAST-UID")
"""Placeholders for the value in the last answer that had one."""
MEANT: dict[str, tuple[str, ...]] = {
    "boolean": ("true", "false", "1", ""),
    "integer": ("1", "2", "0", "5", "-1", "x", "9" * 30),
    "dryRun": ("All", "", "None"),
    "fieldManager": ("fuzz", "other", "", "x" * 129),
    "fieldValidation": ("Strict", "Warn", "Ignore", "x"),
    "propagationPolicy": ("Foreground", "Orphan", "Background", "x"),
    "labelSelector": ("app=web", "!a", "a in (web,x)", "app", "a in ("),
    "fieldSelector": ("metadata.name=x", "status.phase!=Running", "spec.nodeName=n", "spec.mode=Slow", "a"),
    "resourceVersion": ("LAST-REVISION", "0", "1", "x", "9" * 12),
    "resourceVersionMatch": ("Exact", "NotOlderThan", "x"),
    "continue": ("LAST-CONTINUE", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJ4In0", "e30", "x"),
}
"""Plausible values of an option, by its name or type."""
OPTIONS = (
    "labelSelector", "fieldSelector", "resourceVersion", "resourceVersionMatch", "limit", "continue", "watch",
    "timeoutSeconds", "allowWatchBookmarks", "sendInitialEvents", "dryRun", "fieldManager", "fieldValidation",
    "force", "pretty", "gracePeriodSeconds", "propagationPolicy", "orphanDependents", "includeObject",
    "preconditions.uid", "container", "command", "tailLines", "sinceTime", "path", "ignored", "\0",
)  # fmt: skip
VALUES = (*WORDS, *(value for values in MEANT.values() for value in values))
ODD_QUERIES = ("&&", "=", "%", "watch", "a=b=c", "%ff=%fe")
ODD_PARTS = ("/", "//", "%2f", "%00", "%zz", "é", "..", "x")
RAW_BODIES = (
    b"", b"{", b"null", b"[]", b'"x"', b"3", b"{}", b"\xff\xfe", b"k8s\0", b"k8s\0\n\x06", b"- a\n- b\n",
    b"a: &x [*x]", b'{"a":1,"a":2}', b"[" * 3_000, b'{"a":' * 3_000, b'{"metadata":null}',
    b'{"metadata":{"name":3}}', b"!!python/x {}", b'{"kind":"List","items":[]}', b'{"spec":"\\ud800"}',
    b"1e999", b'{"x":1e999}', b"9" * 400, b"a: 2026-01-01", b"--- {}\n--- {}",
    b'{"metadata":{"labels":{"a":null}}}', b'{"metadata":{"$patch":"delete"}}',
)  # fmt: skip
DELETE_OPTIONS: dict[str, tuple[Any, ...]] = {
    "gracePeriodSeconds": (0, 1, -1, 2**70, "x", None),
    "propagationPolicy": ("Foreground", "Orphan", None, "", "x"),
    "preconditions": ({"uid": "LAST-UID"}, {"resourceVersion": "LAST-REVISION"}, None, {}, {"uid": "x"}, 3),
    "dryRun": (["All"], [], ["x"], "All"),
}
DIRECTIVES = ("$patch", "$retainKeys", "$setElementOrder/containers", "$deleteFromPrimitiveList/a")
DIRECTIVE_VALUES: tuple[Any, ...] = ("delete", "replace", "merge", None, 1, 2.5, True, [], [1], {}, {"a": 1})
POINTERS = ("", "/", "/a/b/c", "x", "/~2", "/metadata/resourceVersion", "/spec/containers/99", 3, None)
NO_PRIORITY = {"priorityClassName": None, "priority": None}
"""Overrides for pods: their priority class would have to exist."""
ACTIONS = ("replace", "add", "remove", "test", "copy", "move", "x", None)


@dataclass(frozen=True)
class Request:
    """A request as sent, except for placeholders of ``LAST``, which are to be replaced."""

    method: str
    path: bytes
    headers: dict[str, str]
    body: bytes | None = None


@dataclass
class Maker:
    """Makes the requests of one sequence; ``sent`` remembers bodies, so that changes find an object."""

    published: Published
    topics: list[list[Operation]]
    sent: dict[str, dict[str, Any]] = field(default_factory=dict)

    def request(self, head: bytes, content: bytes) -> Request:
        """``head`` decides everything but the body."""
        choices = Choices(head)
        return self.asking(self._operation(choices), choices, Choices(content))

    def asking(self, operation: Operation, choices: Choices, content: Choices) -> Request:
        method = choices.one_of(METHODS) if choices.chance(0.05) else operation.method
        odd = choices.below(48)
        name = choices.one_of(NAMES) if odd == 47 else self._name(operation, choices)
        namespace = choices.one_of(NAMES) if odd == 46 else "default"
        headers = {"Authorization": "Bearer fuzz", "Content-Type": self._content_type(method, choices)}
        if choices.chance(0.1):
            headers["Accept"] = choices.one_of(ACCEPTS)
        if odd == 45:
            headers["Impersonate-User"] = choices.one_of(("bob", "", "system:node:x"))
        path = operation.path.replace("{name}", quote(name)).replace("{namespace}", quote(namespace))
        path = path.replace("{path}", "a/b").replace("{logpath}", "a")
        if odd == 44:
            position = choices.below(len(path))
            path = path[:position] + choices.one_of(ODD_PARTS) + path[position:]
        query = "&".join(self._query(operation, method, choices))
        body = None
        if method in ("POST", "PUT", "PATCH", "DELETE"):
            body = self._body(operation, method, headers["Content-Type"], name, content)
        if method == "DELETE" or (query and operation.makes):
            self.sent.pop(operation.resource, None)  # it may not exist (any more)
        return Request(method, f"{path}{'?' if query else ''}{query}".encode(), headers, body)

    def _operation(self, choices: Choices) -> Operation:
        """Choose an operation, mostly on the sequence's resources; those that create are more frequent."""
        about = choices.below(16)
        if about > 13:
            return choices.one_of(self.published.operations)
        asked = self.topics[about % len(self.topics)]
        fresh = asked[0].resource not in self.sent
        makers = [each for each in asked if each.makes] if fresh and about > 2 else ()
        found = choices.one_of(makers or asked)
        # Deletions are less frequent, because later requests would find no object.
        return choices.one_of(asked) if found.method == "DELETE" and choices.chance(0.6) else found

    def _name(self, operation: Operation, choices: Choices) -> str:
        """Choose one of few names: that of the valid object, which some kinds prescribe, and one more."""
        example = self.published.examples.get(operation.head, {})
        own: str = example.get("metadata", {}).get("name", "x")
        return choices.one_of((own, own, own, "x"))

    def _content_type(self, method: str, choices: Choices) -> str:
        if choices.chance(0.05):
            return choices.one_of((*MEDIA_TYPES, *PATCH_TYPES))
        return choices.one_of(PATCH_TYPES) if method == "PATCH" else "application/json"

    def _query(self, operation: Operation, method: str, choices: Choices) -> list[str]:
        query = ["fieldManager=fuzz"] if method == "PATCH" and not choices.chance(0.1) else []
        for _ in range(choices.one_of((0, 0, 0, 0, 0, 1, 1, 2))):
            name, kind = choices.one_of(operation.options or (("pretty", "boolean"),))
            values: Sequence[str] = MEANT.get(name) or MEANT.get(kind) or VALUES
            if choices.chance(0.2):
                name, values = choices.one_of(OPTIONS), VALUES
            query.append(f"{quote(name)}={quote(choices.one_of(values))}")
        return [*query, choices.one_of(ODD_QUERIES)] if choices.chance(0.02) else query

    def _body(
        self, operation: Operation, method: str, media_type: str, name: str, choices: Choices
    ) -> bytes | None:
        if choices.chance(0.05):
            return choices.one_of((*RAW_BODIES, None))
        if method == "DELETE":
            given = [choices.one_of(tuple(DELETE_OPTIONS)) for _ in range(choices.below(3))]
            options = {each: choices.one_of(DELETE_OPTIONS[each]) for each in given}
            return json.dumps(options).encode() if options else None
        if media_type == "application/json-patch+json":
            return json.dumps(_json_patch(self._known(operation), choices)).encode()
        plain = self._object(operation, name, choices)
        if method == "PATCH" and choices.chance(0.3):
            _spoil(plain, DIRECTIVES, choices)
        if choices.chance(0.1):
            _spoil(plain, ("x", "kind", "metadata", "spec", "status", "items"), choices)
        return json.dumps(plain).encode()

    def _known(self, operation: Operation) -> dict[str, Any]:
        """Return an object that is probably stored: the one sent last, or the valid one."""
        return self.sent.get(operation.resource) or self.published.examples.get(operation.head, {})

    def _object(self, operation: Operation, name: str, choices: Choices) -> dict[str, Any]:
        example = self.published.examples.get(operation.head, {})
        first = operation.makes and operation.resource not in self.sent
        base = choices.one_of((example, example, self._known(operation), {}))
        wrong = choices.one_of((0.0, 0.0, 0.0, 0.0, 0.02, 0.1))
        changes = {}
        if operation.schema and not (first and base and choices.chance(0.7)):
            made = Body(self.published.definitions, choices, wrong, complete=not base)
            changes = made.value(operation.schema)
        # Copy it: other requests and tests share the object that is damaged below.
        plain: dict[str, Any] = copied(merged(base, changes if isinstance(changes, dict) else {}))
        version, kind = operation.head
        if not choices.chance(0.05):
            plain |= {"apiVersion": version, "kind": kind}
        if not isinstance(plain.get("metadata"), dict) or not choices.chance(0.2):
            kept = base.get("metadata") or {}
            plain["metadata"] = {each: kept[each] for each in ("labels", "annotations") if each in kept}
        plain["metadata"]["name"] = name
        if "{namespace}" in operation.path:
            plain["metadata"]["namespace"] = "default"
        if choices.chance(0.05):
            plain["metadata"]["resourceVersion"] = choices.one_of(("LAST-REVISION", "1", "x", 1))
        self.sent[operation.resource] = copied(plain)
        return plain


class Published:
    """A document, read once; ``examples``: a valid object by its ``apiVersion`` and ``kind``."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.operations = operations(document)
        self.definitions = document["definitions"]
        objects = (*valid_objects(), *custom_objects())
        self.examples = {(each["apiVersion"], each["kind"]): each for each in objects}
        self.examples["v1", "Pod"] = merged(self.examples["v1", "Pod"], {"spec": NO_PRIORITY})
        self._by_resource: dict[str, list[Operation]] = {}
        for each in self.operations:
            self._by_resource.setdefault(each.resource, []).append(each)
        custom = [resource for resource in self._by_resource if resource.startswith("apis/fuzz.")]
        # Custom objects get more weight than their number gives.
        self._resources = [*self._by_resource, *custom * 3]

    def each_once(self) -> list[Request]:
        """Return the plainest request for every operation."""
        maker = Maker(self, [])
        return [maker.asking(each, Choices(b""), Choices(b"")) for each in self.operations]

    def sequences(self) -> st.SearchStrategy[list[Request]]:
        """Return sequences of up to ``LONGEST`` requests on one to three resources."""

        @st.composite
        def sequence(draw: Callable[[st.SearchStrategy[Any]], Any]) -> list[Request]:
            topics = [self._by_resource[each] for each in draw(resources)]
            maker, found = Maker(self, topics), list[Request]()
            while len(found) < LONGEST and (more := draw(going_on)):
                blob = draw(blobs[more % len(blobs)])
                found.append(maker.request(blob[:HEAD], blob[HEAD:]))
            return found

        resources = st.lists(st.sampled_from(self._resources), min_size=1, max_size=3)
        going_on = st.integers(0, 99)
        blobs = [st.binary(min_size=HEAD + size, max_size=HEAD + size) for size in (0, 16, 48, 160)]
        return sequence()


def _spoil(plain: Any, keys: tuple[str, ...], choices: Choices) -> None:
    """Replace a value inside by one of another type, or by a directive."""
    while isinstance(plain, dict):
        inner = [value for value in plain.values() if value and isinstance(value, dict | list)]
        if not inner or choices.chance(0.3):
            plain[choices.one_of((*keys, *plain))] = copied(choices.one_of(DIRECTIVE_VALUES))
            return
        plain = choices.one_of(inner)
        if isinstance(plain, list):
            if choices.chance(0.3):
                plain.append(copied(choices.one_of((*WRONG, {"$patch": "delete"}, {"$patch": "replace"}))))
                return
            plain = choices.one_of(plain)


def _json_patch(plain: dict[str, Any], choices: Choices) -> list[dict[str, Any]]:
    """Return a JSON patch, mostly on existing fields."""

    def pointer() -> Any:
        return choices.one_of(POINTERS) if choices.chance(0.2) else _pointer(plain, choices)

    return [
        {
            "op": choices.one_of(ACTIONS),
            "path": pointer(),
            "from": pointer(),
            "value": choices.one_of((*WRONG, {"a": "b"}, [None])),
        }
        for _ in range(choices.one_of((1, 1, 2, 3, 0)))
    ]


def _pointer(plain: Any, choices: Choices) -> str:
    steps = ""
    while plain and isinstance(plain, dict | list) and not choices.chance(0.2):
        keys = list(plain) if isinstance(plain, dict) else [*map(str, range(len(plain))), "-", "9"]
        key = choices.one_of(keys)
        steps += "/" + key.replace("~", "~0").replace("/", "~1")
        plain = plain.get(key) if isinstance(plain, dict) else dict(enumerate(plain)).get(keys.index(key))
    return steps

"""The verbs: each kind's object is created, read, changed and deleted, with the usual mistakes on the way."""

from __future__ import annotations

import json
from typing import Any

import yaml

from tools.recorded_requests.recorder import JSON, Json, Recorder
from tools.recorded_requests.scenario.accepts import ACCEPTS, LIST_ACCEPTS, WATCH_ACCEPTS
from tools.recorded_requests.scenario.kinds import Kind
from tools.recorded_requests.scenario.settling import wait_until_gone, wait_until_settled

DRY = {"dryRun": "All"}
CREATOR, PATCHER = {"fieldManager": "a-creator"}, {"fieldManager": "n-patcher"}
"""Managers of one object are named in the order in which they write: managed fields are sorted by time, in
seconds, then by name, so that other names would make the order of entries depend on the clock."""
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
LABEL = {"metadata": {"labels": {"recorded": "yes"}}}
BROKEN_BODIES: dict[str, tuple[str, str]] = {
    "nothing": ("", JSON),
    "half of an object": ('{"kind":', JSON),
    "a list": ("[]", JSON),
    "null": ("null", JSON),
    "a number": ("3", JSON),
    "an empty object": ("{}", JSON),
    "a field twice": ('{"metadata":{"name":"a","name":"b"}}', JSON),
    "metadata as a text": ('{"metadata":"x"}', JSON),
    "labels as numbers": ('{"metadata":{"name":"a","labels":{"a":1}}}', JSON),
    "yaml that is none": ("a: [", "application/yaml"),
    "protobuf that is none": ("k8s\0x", "application/vnd.kubernetes.protobuf"),
    "plain text": ("x", "text/plain"),
    "no media type": ("{}", ""),
}


def create(recorder: Recorder, kind: Kind) -> None:
    """Create the object, after creations that fail or store nothing."""
    recorder.group("create")
    send, sample, title, body = recorder.send, recorder.sample, kind.title, kind.body()
    for name, (text, media_type) in BROKEN_BODIES.items():
        sample(
            f"{title} {name}", "POST", kind.collection, text, headers={"Content-Type": media_type}, query=DRY
        )
    unknown = {**body, "unknown": {"a": 1}}
    for validation in ("Strict", "Warn", "Ignore", "Other"):
        query = {**DRY, "fieldValidation": validation}
        sample(f"{title} unknown field, {validation}", "POST", kind.collection, unknown, query=query)
    for name, changes in _wrong_identity(kind).items():
        sample(f"{title} {name}", "POST", kind.collection, {**body, **changes}, query=DRY)
    generated = {**body["metadata"], "generateName": "generated-"}
    generated.pop("name", None)
    sample(f"{title} generated name", "POST", kind.collection, {**body, "metadata": generated}, query=DRY)
    send(f"{title} dry run", "POST", kind.collection, body, query={**DRY, **CREATOR})
    sample(f"{title} bad dry run", "POST", kind.collection, body, query={"dryRun": "Some"})
    sample(f"{title} long manager", "POST", kind.collection, body, query={**DRY, "fieldManager": "x" * 129})
    text = yaml.safe_dump(body)
    sample(
        f"{title} yaml",
        "POST",
        kind.collection,
        text,
        query=DRY,
        headers={"Content-Type": "application/yaml"},
    )
    for accept in ("table", "partial", "protobuf", "yaml"):
        headers = {"Accept": ACCEPTS[accept]}
        sample(f"{title} answer {accept}", "POST", kind.collection, body, query=DRY, headers=headers)
    send(f"{title} created", "POST", kind.collection, body, query=CREATOR)
    wait_until_settled(recorder, kind, kind.name)
    sample(f"{title} created again", "POST", kind.collection, body)


def _wrong_identity(kind: Kind) -> dict[str, Json]:
    metadata = kind.body()["metadata"]
    return {
        "other kind": {"kind": "Other"},
        "no kind": {"kind": ""},
        "other version": {"apiVersion": "other.example.com/v1"},
        "no name": {"metadata": {key: value for key, value in metadata.items() if key != "name"}},
        "other namespace": {"metadata": {**metadata, "namespace": "other"}},
        "resource version": {"metadata": {**metadata, "resourceVersion": "1"}},
        "own uid": {"metadata": {**metadata, "uid": "mine"}},
        "bad labels": {"metadata": {**metadata, "labels": {"-a/b/c": "x y", "": "x" * 64}}},
        "bad annotations": {"metadata": {**metadata, "annotations": {"Bad Key": "x"}}},
        "bad finalizers": {"metadata": {**metadata, "finalizers": ["x", "bad one/"]}},
        "bad owners": {"metadata": {**metadata, "ownerReferences": [{"kind": "x"}]}},
        "bad generated name": {"metadata": {**metadata, "name": "", "generateName": "A_"}},
        "bad managed fields": {"metadata": {**metadata, "managedFields": [{"operation": "x"}]}},
    }


def read(recorder: Recorder, kind: Kind) -> None:
    """Read the object and its lists in every form, with every option."""
    recorder.group("read")
    send, sample, title = recorder.send, recorder.sample, kind.title
    for name, accept in ACCEPTS.items():
        choose = send if name == "table" else sample
        choose(f"{title} as {name}", "GET", kind.path, headers={"Accept": accept})
    sample(f"{title} pretty", "GET", kind.path, query={"pretty": "true"})
    sample(f"{title} compressed", "GET", kind.path, headers={"Accept-Encoding": "gzip"})
    for version in ("0", "1", "x"):
        sample(f"{title} at {version}", "GET", kind.path, query={"resourceVersion": version})
    sample(f"{title} missing", "GET", f"{kind.collection}/missing")
    sample(
        f"{title} missing as table", "GET", f"{kind.collection}/missing", headers={"Accept": ACCEPTS["table"]}
    )
    sample(f"{title} bad name", "GET", f"{kind.collection}/Bad%20Name")
    sample(f"{title} missing subresource", "GET", f"{kind.path}/missing")
    sample(
        f"{title} table without objects",
        "GET",
        kind.path,
        query={"includeObject": "None"},
        headers={"Accept": ACCEPTS["table"]},
    )
    for method in ("POST", "HEAD", "OPTIONS", "TRACE"):
        sample(f"{title} {method} object", method, kind.path)
    for method in ("PUT", "PATCH", "HEAD", "OPTIONS"):
        sample(f"{title} {method} collection", method, kind.collection)


LISTS: dict[str, Json] = {
    "label": {"labelSelector": "app=web"},
    "label in": {"labelSelector": "app in (web,rich),!missing"},
    "bad label": {"labelSelector": "app in ("},
    "bad label value": {"labelSelector": "app=a b"},
    "bad field": {"fieldSelector": "unknown=x"},
    "half a field": {"fieldSelector": "metadata.name"},
    "at 0": {"resourceVersion": "0"},
    "not older than 1": {"resourceVersion": "1", "resourceVersionMatch": "NotOlderThan"},
    "bad version": {"resourceVersion": "x"},
    "match without version": {"resourceVersionMatch": "Exact"},
    "exact 0": {"resourceVersion": "0", "resourceVersionMatch": "Exact"},
    "bad match": {"resourceVersion": "1", "resourceVersionMatch": "Other"},
    "bad continue": {"continue": "x"},
    "bad limit": {"limit": "x"},
    "negative limit": {"limit": "-1"},
    "bad timeout": {"timeoutSeconds": "x"},
    "initial events without watch": {"sendInitialEvents": "true"},
    "bad watch": {"watch": "maybe", "timeoutSeconds": "1"},
    "bad initial events": {"watch": "true", "sendInitialEvents": "true", "timeoutSeconds": "1"},
}


def list_all(recorder: Recorder, kind: Kind) -> None:
    """List with selectors, pages, versions and forms."""
    recorder.group("list")
    send, sample, title = recorder.send, recorder.sample, kind.title
    whole = send(f"{title} whole", "GET", kind.collection).json()
    revision = whole.get("metadata", {}).get("resourceVersion", "1")
    for name, query in LISTS.items():
        sample(f"{title} {name}", "GET", kind.collection, query=query)
    for match in ("Exact", "NotOlderThan"):
        query = {"resourceVersion": revision, "resourceVersionMatch": match}
        sample(f"{title} {match}", "GET", kind.collection, query=query)
    for field in (f"metadata.name={kind.name}", f"metadata.name!={kind.name}", "metadata.namespace=default"):
        sample(f"{title} {field}", "GET", kind.collection, query={"fieldSelector": field})
    for name in LIST_ACCEPTS:
        headers = {"Accept": ACCEPTS[name]}
        choose = send if name == "table" else sample
        choose(f"{title} as {name}", "GET", kind.collection, headers=headers)
        sample(f"{title} page as {name}", "GET", kind.collection, query={"limit": 1}, headers=headers)
    sample(f"{title} everywhere", "GET", kind.everywhere)
    sample(f"{title} missing namespace", "GET", f"{kind.base}/namespaces/missing/{kind.resource}")
    pages: dict[str, Any] = {"limit": 1}
    for page in range(3):
        part = send(f"{title} page {page}", "GET", kind.everywhere, query=pages).json()
        token = part.get("metadata", {}).get("continue")
        if not token:
            break
        pages["continue"] = token


def update(recorder: Recorder, kind: Kind) -> None:
    """Update the object: without a change, with one, and with stale or foreign identities."""
    recorder.group("update")
    send, sample, title = recorder.send, recorder.sample, kind.title
    stored = send(f"{title} before", "GET", kind.path).json()
    sample(f"{title} unchanged", "PUT", kind.path, stored)
    metadata = stored["metadata"]
    labelled = {
        **stored,
        "metadata": {**metadata, "labels": {**metadata.get("labels", {}), "recorded": "yes"}},
    }
    sample(f"{title} dry run", "PUT", kind.path, labelled, query=DRY)
    send(f"{title} labelled", "PUT", kind.path, labelled, query={"fieldManager": "m-updater"})
    wait_until_settled(recorder, kind, kind.name)
    changed: dict[str, Json] = {
        "stale": {"resourceVersion": "1"},
        "bad version": {"resourceVersion": "x"},
        "other uid": {"resourceVersion": None, "uid": "00000000-0000-4000-8000-000000000000"},
        "other name": {"name": "other"},
        "no name": {"name": ""},
        "other namespace": {"namespace": "other"},
        "no version": {"resourceVersion": None},
    }
    for name, changes in changed.items():
        sample(
            f"{title} {name}", "PUT", kind.path, {**labelled, "metadata": {**metadata, **changes}}, query=DRY
        )
    missing = {**kind.body(), "metadata": {**kind.body()["metadata"], "name": "missing"}}
    sample(f"{title} missing", "PUT", f"{kind.collection}/missing", missing, query=DRY)
    for name, (text, media_type) in BROKEN_BODIES.items():
        sample(f"{title} {name}", "PUT", kind.path, text, headers={"Content-Type": media_type}, query=DRY)


def patch(recorder: Recorder, kind: Kind) -> None:
    """Send every type of patch, right and wrong, then apply with conflicts."""
    recorder.group("patch")
    for name, media_type, body in PATCHES:
        headers = {"Content-Type": media_type}
        recorder.sample(
            f"{kind.title} {name}", "PATCH", kind.path, _text(body), headers=headers, query={**DRY, **PATCHER}
        )
        if name.startswith("stored"):
            recorder.send(
                f"{kind.title} {name} for good",
                "PATCH",
                kind.path,
                _text(body),
                headers=headers,
                query=PATCHER,
            )
    missing = {"Content-Type": MERGE}
    recorder.sample(
        f"{kind.title} missing", "PATCH", f"{kind.collection}/missing", _text(LABEL), headers=missing
    )
    _apply(recorder, kind)


APPLIED = ("two labels", "forced", "fewer labels")
"""Applies that are always sent, because they change what later requests read."""


def _apply(recorder: Recorder, kind: Kind) -> None:
    """Apply as one manager, as another that conflicts, by force, and fewer fields again."""
    recorder.group("apply")
    identity = {"apiVersion": kind.group_version, "kind": kind.kind}

    def apply(name: str, body: Any, path: str = kind.path, **query: str) -> None:
        query.setdefault("fieldManager", "o-one")
        text = body if isinstance(body, str) else yaml.safe_dump(body)
        send = recorder.send if name in APPLIED else recorder.sample
        send(f"{kind.title} {name}", "PATCH", path, text, headers={"Content-Type": APPLY}, query=query)

    def labels(**found: str) -> Json:
        return {**identity, "metadata": {"name": kind.name, "labels": found}}

    apply("no manager", labels(a="1"), fieldManager="")
    apply("two labels", labels(a="1", b="1"))
    apply("the same", labels(a="1", b="1"))
    apply("conflict", labels(a="2"), fieldManager="p-two")
    apply("forced", labels(a="2"), fieldManager="p-two", force="true")
    apply("fewer labels", labels(), fieldManager="p-two")
    apply("whole object", kind.body(), fieldManager="q-three", dryRun="All")
    apply("whole object by force", kind.body(), fieldManager="q-three", force="true", dryRun="All")
    apply("no identity", {"metadata": {"name": kind.name}})
    apply("other name", {**identity, "metadata": {"name": "other"}})
    apply("managed fields", {**identity, "metadata": {"name": kind.name, "managedFields": [{}]}})
    apply("unknown field", {**labels(a="2"), "unknown": 1}, fieldManager="p-two", fieldValidation="Strict")
    apply("broken", "a: [")
    apply("bad force", labels(), fieldManager="p-two", force="maybe")
    new = {**kind.body(), "metadata": {**kind.body()["metadata"], "name": "new"}}
    apply("new object", new, f"{kind.collection}/new", dryRun="All")
    wait_until_settled(recorder, kind, kind.name)


def delete(recorder: Recorder, kind: Kind) -> None:
    """Delete the object, after deletions that are refused, and collections by selector."""
    recorder.group("delete")
    send, sample, title = recorder.send, recorder.sample, kind.title
    refused: dict[str, Json] = {
        "other uid": {"preconditions": {"uid": "00000000-0000-4000-8000-000000000000"}},
        "stale": {"preconditions": {"resourceVersion": "1"}},
        "bad policy": {"propagationPolicy": "Other"},
        "two policies": {"propagationPolicy": "Orphan", "orphanDependents": True},
        "negative grace": {"gracePeriodSeconds": -1},
        "dry run": {"dryRun": ["All"]},
        "bad dry run": {"dryRun": ["Some"]},
        "other kind": {"kind": "Other", "apiVersion": "v1"},
        "unknown": {"unknown": 1},
    }
    for name, options in refused.items():
        sample(
            f"{title} {name}",
            "DELETE",
            kind.path,
            options,
            query={"dryRun": "All"} if name == "unknown" else None,
        )
    sample(f"{title} dry run by query", "DELETE", kind.path, query=DRY)
    sample(f"{title} grace by query", "DELETE", kind.path, query={**DRY, "gracePeriodSeconds": "x"})
    sample(f"{title} missing", "DELETE", f"{kind.collection}/missing")
    if "deletecollection" in kind.verbs:
        everything = {"labelSelector": "recorded"}
        sample(f"{title} collection, dry run", "DELETE", kind.collection, query={**DRY, **everything})
        sample(
            f"{title} collection, bad selector", "DELETE", kind.collection, query={"labelSelector": "a in ("}
        )
    send(
        f"{title} deleted", "DELETE", kind.path, {"propagationPolicy": "Background", "gracePeriodSeconds": 0}
    )
    sample(f"{title} deleted again", "DELETE", kind.path)
    wait_until_gone(recorder, kind, kind.name)


def delete_collection(recorder: Recorder, kind: Kind) -> None:
    """Create two objects with a label and delete them as a collection."""
    if "deletecollection" not in kind.verbs:
        return
    recorder.group("delete collection")
    body = kind.body()
    body["metadata"].setdefault("labels", {})["recorded"] = "yes"
    recorder.send(f"{kind.title} create", "POST", kind.collection, body, query=CREATOR)
    wait_until_settled(recorder, kind, kind.name)
    query = {"labelSelector": "recorded=yes"}
    recorder.send(f"{kind.title} one", "DELETE", kind.collection, {"gracePeriodSeconds": 0}, query=query)
    wait_until_gone(recorder, kind, kind.name)
    recorder.sample(f"{kind.title} none", "DELETE", kind.collection, query=query)
    recorder.sample(f"{kind.title} left", "GET", kind.collection, query=query)


def watch_later(recorder: Recorder, kind: Kind, revision: str) -> None:
    """Note watches: of the history since a revision in several forms, of the state, with bookmarks."""
    if "watch" not in kind.verbs:
        return
    recorder.group("watch")
    since = {"resourceVersion": revision}
    recorder.watch_later(f"{kind.title} history", kind.collection, since)
    for name in WATCH_ACCEPTS:
        headers = {"Accept": ACCEPTS[name]}
        recorder.watch_later(f"{kind.title} history as {name}", kind.collection, since, headers)
    selected = {**since, "labelSelector": "recorded=yes"}
    recorder.watch_later(f"{kind.title} history by label", kind.collection, selected)
    named = {**since, "fieldSelector": f"metadata.name={kind.name}", "allowWatchBookmarks": "true"}
    recorder.watch_later(f"{kind.title} history by name", kind.everywhere, named)
    recorder.watch_later(f"{kind.title} state", kind.everywhere, {})
    initial = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    recorder.watch_later(f"{kind.title} initial events", kind.everywhere, initial)
    recorder.watch_later(f"{kind.title} old path", f"{kind.base}/watch/{kind.resource}", since)


PATCHES: list[tuple[str, str, Any]] = [
    ("stored merge", MERGE, {"metadata": {"labels": {"merged": "yes"}, "annotations": {"a": "b"}}}),
    ("stored merge of nothing", MERGE, {}),
    ("merge that removes", MERGE, {"metadata": {"labels": None}}),
    ("merge of another name", MERGE, {"metadata": {"name": "other"}}),
    ("merge of a stale version", MERGE, {"metadata": {"resourceVersion": "1"}}),
    ("merge of a uid", MERGE, {"metadata": {"uid": "x"}}),
    ("merge of a bad label", MERGE, {"metadata": {"labels": {"a b": "c"}}}),
    ("merge of an unknown field", MERGE, {"unknown": {"a": 1}}),
    ("merge of a wrong type", MERGE, {"metadata": {"labels": "x"}}),
    ("merge of a spec that is none", MERGE, {"spec": "x"}),
    ("merge of another kind", MERGE, {"kind": "Other"}),
    ("merge of a list", MERGE, []),
    ("broken merge", MERGE, "{"),
    ("stored operations", JSON_PATCH, [{"op": "add", "path": "/metadata/annotations", "value": {"c": "d"}}]),
    ("test that holds", JSON_PATCH, [{"op": "test", "path": "/metadata/annotations/c", "value": "d"}]),
    ("test that fails", JSON_PATCH, [{"op": "test", "path": "/metadata/name", "value": "no"}]),
    ("removal of nothing", JSON_PATCH, [{"op": "remove", "path": "/metadata/missing"}]),
    ("copy and move", JSON_PATCH, [
        {"op": "copy", "from": "/metadata/annotations/c", "path": "/metadata/annotations/e"},
        {"op": "move", "from": "/metadata/annotations/e", "path": "/metadata/annotations/f"},
        {"op": "replace", "path": "/metadata/annotations/f", "value": "x"},
    ]),
    ("unknown operation", JSON_PATCH, [{"op": "other", "path": "/metadata"}]),
    ("operation without path", JSON_PATCH, [{"op": "add", "value": 1}]),
    ("bad path", JSON_PATCH, [{"op": "add", "path": "metadata", "value": 1}]),
    ("operations that are none", JSON_PATCH, {}),
    ("replacement of the whole", JSON_PATCH, [{"op": "replace", "path": "", "value": {}}]),
    ("stored strategic", STRATEGIC, {"metadata": {"labels": {"strategic": "yes"}}}),
    ("strategic finalizers", STRATEGIC, {"metadata": {"finalizers": ["example.com/a"]}}),
    ("strategic deletion", STRATEGIC, {"metadata": {"labels": {"$patch": "replace", "x": "y"}}}),
    ("strategic directive that is none", STRATEGIC, {"metadata": {"$patch": "other"}}),
    ("strategic retained keys", STRATEGIC, {"metadata": {"labels": {"$retainKeys": ["a"], "a": "b"}}}),
    ("unknown type", "application/x-patch", {}),
    ("plain json", JSON, {}),
]  # fmt: skip


def _text(body: Any) -> str:
    return body if isinstance(body, str) else json.dumps(body)

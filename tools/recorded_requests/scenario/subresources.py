"""Subresources of every kind, as discovery names them."""

from __future__ import annotations

import json
from typing import Any

from tools.recorded_requests.recorder import DEFAULT_MANAGER, Json, Recorder
from tools.recorded_requests.scenario.accepts import ACCEPTS
from tools.recorded_requests.scenario.kinds import Kind
from tools.recorded_requests.scenario.lifecycle import APPLY, DRY, JSON_PATCH, MERGE, STRATEGIC
from tools.recorded_requests.scenario.settling import wait_until_settled

CONNECTING = ("exec", "attach", "portforward", "proxy")
POSTED: dict[str, list[Json]] = {
    "binding": [
        {"metadata": {"name": "rich"}, "target": {"kind": "Node", "name": "n1"}},
        {"metadata": {"name": "rich"}, "target": {}},
        {"target": {"kind": "Other", "name": "n1"}},
        {},
    ],
    "eviction": [
        {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "rich"}},
        {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "other"}},
        {"apiVersion": "policy/v1", "kind": "Eviction", "deleteOptions": {"gracePeriodSeconds": -1}},
    ],
    "token": [
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
        {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"audiences": ["a"], "expirationSeconds": 60},
        },
        {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "missing"}}},
        {"spec": {"boundObjectRef": {"kind": "Other", "apiVersion": "v1", "name": "missing"}}},
    ],
}
"""Bodies to create, for subresources that only take them."""
LOG_OPTIONS: list[Json] = [
    {}, {"container": "missing"}, {"container": "main"}, {"tailLines": "-1"}, {"follow": "maybe"},
    {"sinceSeconds": "0"}, {"sinceTime": "x"}, {"limitBytes": "0"}, {"stream": "Other"}, {"previous": "true"},
]  # fmt: skip


def send_all(recorder: Recorder, kind: Kind) -> None:
    """Send every verb of every subresource of the stored object."""
    recorder.group("subresources")
    for name, about in kind.subresources:
        path, title = f"{kind.path}/{name}", f"{kind.title}/{name}"
        if name in CONNECTING:
            recorder.sample(f"{title} without upgrade", "GET", path, query={"command": "x"})
            recorder.sample(f"{title} posted", "POST", path, query={"stdin": "true", "container": "missing"})
        elif name == "log":
            for options in LOG_OPTIONS:
                recorder.sample(f"{title} {json.dumps(options)}", "GET", path, query=options)
        elif name in POSTED or "create" in about["verbs"]:
            for body in POSTED.get(name, [{}]):
                recorder.sample(title, "POST", path, body, query=DRY)
            recorder.sample(
                f"{title} of nothing", "POST", f"{kind.collection}/missing/{name}", POSTED.get(name, [{}])[0]
            )
            recorder.sample(f"{title} broken", "POST", path, "{")
            recorder.sample(f"{title} read", "GET", path)
        else:
            _read_and_write(recorder, kind, name)


def _read_and_write(recorder: Recorder, kind: Kind, name: str) -> None:
    path, title = f"{kind.path}/{name}", f"{kind.title}/{name}"
    found = recorder.send(f"{title} read", "GET", path)
    for accept in ("protobuf", "yaml", "table", "partial", "unknown"):
        recorder.sample(f"{title} as {accept}", "GET", path, headers={"Accept": ACCEPTS[accept]})
    recorder.sample(f"{title} missing", "GET", f"{kind.collection}/missing/{name}")
    body = found.json() if found.status == 200 else recorder.send(f"{title} whole", "GET", kind.path).json()
    recorder.sample(f"{title} unchanged", "PUT", path, body)
    recorder.sample(
        f"{title} stale", "PUT", path, {**body, "metadata": {**body["metadata"], "resourceVersion": "1"}}
    )
    recorder.sample(f"{title} other name", "PUT", path, {**body, "metadata": {"name": "other"}})
    recorder.sample(f"{title} empty", "PUT", path, {}, query=DRY)
    for field in ("spec", "status"):
        recorder.sample(f"{title} without {field}", "PUT", path, _without(body, field), query=DRY)
    if name == "scale":
        for replicas in (5, -1, "x", 2**31):
            recorder.sample(
                f"{title} {replicas}", "PUT", path, {**body, "spec": {"replicas": replicas}}, query=DRY
            )
    identity = {"apiVersion": body.get("apiVersion"), "kind": body.get("kind")}
    condition = {
        "type": "Recorded",
        "status": "True",
        "lastTransitionTime": "2020-01-01T00:00:00Z",
        "reason": "Test",
        "message": "x",
    }
    status: dict[str, Any] = {"status": {"conditions": [condition]}}
    part = {"spec": {"replicas": 1}} if name == "scale" else status
    for media_type, patch in (
        (MERGE, part),
        (STRATEGIC, part),
        (JSON_PATCH, [{"op": "add", "path": "/status", "value": status["status"]}]),
        (APPLY, {**identity, "metadata": {"name": kind.name}, **part}),
        (MERGE, {"metadata": {"labels": {"by": "subresource"}}, "spec": {"unknown": 1}}),
        (MERGE, {"status": "x"}),
    ):
        headers, query = (
            {"Content-Type": media_type},
            {"fieldManager": DEFAULT_MANAGER, "fieldValidation": "Strict"},
        )
        recorder.sample(
            f"{title} {media_type}", "PATCH", path, json.dumps(patch), headers=headers, query=query
        )
    recorder.sample(f"{title} deleted", "DELETE", path, query=DRY)
    recorder.sample(f"{title} created", "POST", path, body, query=DRY)
    wait_until_settled(recorder, kind, kind.name)


def _without(body: Json, field: str) -> Json:
    return {key: value for key, value in body.items() if key != field}

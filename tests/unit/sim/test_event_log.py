"""The event log: its lines, what it leaves out, and its digest."""

from __future__ import annotations

import json
from datetime import timedelta

import msgspec

from podling.api.coordination_v1 import Lease
from podling.machinery.scheme import resource_of
from podling.sim.changes import Change
from podling.sim.event_log import EventLog
from tests.support.checked import BEGIN, node, pod


def change(old: object, new: object, revision: int = 5) -> Change:
    last = new if new is not None else old
    metadata = getattr(last, "metadata")  # noqa: B009
    resource = resource_of(type(last))
    at = BEGIN + timedelta(seconds=1.5)
    return Change(at, revision, resource, metadata.namespace or "", metadata.name, old, new, last)


def logged(*changes: Change) -> tuple[list[dict[str, object]], str]:
    lines: list[bytes] = []
    log = EventLog(BEGIN, lines.append)
    for each in changes:
        log.change(each)
    return [json.loads(line) for line in lines], log.digest


def test_line_has_time_and_the_facts_of_a_pod() -> None:
    lines, _ = logged(change(None, pod(node="n-1", restarts=1)))
    assert lines == [
        {
            "at": 1.5,
            "event": "created",
            "object": "pods/default/web",
            "phase": "Running",
            "node": "n-1",
            "ready": ["app"],
            "restarts": 1,
            "reason": "",
        }
    ]


def test_deletion_has_a_line() -> None:
    lines, _ = logged(change(pod(), None))
    assert (lines[0]["event"], lines[0]["object"]) == ("deleted", "pods/default/web")


def test_heartbeats_have_no_line() -> None:
    lease = msgspec.convert({"metadata": {"name": "n", "namespace": "kube-node-lease"}}, Lease)
    lines, _ = logged(change(None, lease), change(node(), node()))
    assert lines == []


def test_digest_depends_on_every_line() -> None:
    same = logged(change(None, pod()))[1]
    assert logged(change(None, pod()))[1] == same
    assert logged(change(None, pod()), change(pod(), None))[1] != same
    assert logged(change(None, pod(), revision=6))[1] == same, (
        "heartbeats that a leap leaves out count for nothing"
    )

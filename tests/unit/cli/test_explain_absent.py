"""Explanations for pods that do not exist."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from podling.api.core_v1 import Event, Pod
from podling.cli.explain_absent import explain_absent, explain_absent_service

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


def event(reason: str, message: str, kind: str = "ReplicaSet") -> Event:
    about = {"kind": kind, "name": "web-1"}
    plain = {
        "reason": reason,
        "message": message,
        "lastTimestamp": "2026-01-01T11:59:00Z",
        "involvedObject": about,
    }
    return msgspec.convert(plain, Event)


def pod(name: str, namespace: str = "shop") -> Pod:
    return msgspec.convert({"metadata": {"name": name, "namespace": namespace}}, Pod)


@pytest.mark.parametrize(
    ("name", "events", "said"),
    [
        ("nothing", [], 'There is no pod "nothing" in namespace shop.'),
        ("db", [], 'There is no pod "db" in namespace shop. There is one in namespace back: use -n back.'),
        ("web", [], 'There is no pod "web" in namespace shop. Is web-1-a or web-1-b meant?'),
        ("cachee", [], 'There is no pod "cachee" in namespace shop. Is cache meant?'),
        (
            "gone",
            [event("Preempted", "Preempted by pod x."), event("Killing", "Stopping container main")],
            'There is no pod "gone" in namespace shop. There was one; the last word on its end: '
            "Preempted, 60s ago: Preempted by pod x.",
        ),
    ],
)
def test_a_pod_that_does_not_exist(name: str, events: list[Event], said: str) -> None:
    pods = [pod("web-1-a"), pod("web-1-b"), pod("cache"), pod("db", "back")]
    assert explain_absent(name, "shop", pods, events, NOW) == said


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nothing", 'There is no service "nothing" in namespace shop.'),
        ("db", 'There is no service "db" in namespace shop. There is one in namespace back: use -n back.'),
        ("wbe", 'There is no service "wbe" in namespace shop. Is web meant?'),
    ],
)
def test_a_service_that_does_not_exist(name: str, said: str) -> None:
    services = [("shop", "web"), ("shop", "cache"), ("back", "db")]
    assert explain_absent_service(name, "shop", services) == said

"""The health of the service proxy; the cases are those of upstream's ``healthcheck_test.go``."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from http import HTTPStatus

import pytest

from podling.api.core_v1 import Node, NodeSpec, Taint
from podling.api.meta_v1 import ObjectMeta
from podling.network.services.proxy_health import TIMEOUT, TO_BE_DELETED, ProxyHealth

NOW = datetime(2026, 1, 1, 12, 0, 0, 250_000, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def codes(health: ProxyHealth, now: datetime) -> tuple[int, int]:
    return health.healthz(now)[0].value, health.livez(now)[0].value


def test_proxy_is_healthy_while_it_starts() -> None:
    health = ProxyHealth()
    assert codes(health, NOW) == (200, 200)
    health.queue(("ip",), NOW)
    assert codes(health, NOW + 2 * TIMEOUT) == (200, 200), "nothing was ever written"


def test_late_change_of_any_family_makes_it_unhealthy_until_it_is_written() -> None:
    health = ProxyHealth()
    health.update(("ip", "ip6"), NOW)
    assert codes(health, NOW + 10 * TIMEOUT) == (200, 200), "no change waits"
    health.queue(("ip",), NOW)
    health.queue(("ip",), NOW + TIMEOUT - SECOND)
    assert codes(health, NOW + TIMEOUT - SECOND) == (200, 200)
    assert codes(health, NOW + TIMEOUT) == (503, 503), "the oldest change counts"
    assert not health.is_healthy(NOW + TIMEOUT)
    health.update(("ip6",), NOW + TIMEOUT)
    assert codes(health, NOW + TIMEOUT) == (503, 503)
    health.update(("ip",), NOW + TIMEOUT)
    assert codes(health, NOW + TIMEOUT) == (200, 200)


@pytest.mark.parametrize(
    ("node", "is_eligible"),
    [
        (Node(), True),
        (Node(spec=NodeSpec(taints=(Taint(key="other", effect="NoSchedule"),))), True),
        (Node(spec=NodeSpec(taints=(Taint(key=TO_BE_DELETED, effect="NoSchedule"),))), False),
        (Node(metadata=ObjectMeta(deletion_timestamp=NOW)), False),
        (None, False),
    ],
)
def test_node_that_is_deleted_is_no_target_but_its_proxy_lives(node: Node | None, is_eligible: bool) -> None:
    health = ProxyHealth()
    health.update(("ip",), NOW)
    health.see(node)
    assert codes(health, NOW) == (200 if is_eligible else 503, 200)
    assert json.loads(health.healthz(NOW)[1])["nodeEligible"] is is_eligible
    health.see(Node())
    assert codes(health, NOW) == (200, 200)


def test_bodies_are_those_of_kube_proxy() -> None:
    health = ProxyHealth()
    health.update(("ip",), NOW)
    now = NOW + SECOND
    shown = '"2026-01-01 12:00:01.25 +0000 UTC"'
    assert health.healthz(now) == (
        HTTPStatus.OK,
        f'{{"lastUpdated": {shown},"currentTime": {shown}, "nodeEligible": true}}'.encode(),
    )
    assert health.livez(now)[1] == f'{{"lastUpdated": {shown},"currentTime": {shown}}}'.encode()
    health.queue(("ip",), NOW)
    late = NOW.replace(microsecond=0) + TIMEOUT + SECOND
    assert health.livez(late)[1] == (
        b'{"lastUpdated": "2026-01-01 12:00:00.25 +0000 UTC","currentTime": "2026-01-01 12:01:01 +0000 UTC"}'
    )
    empty = ProxyHealth()
    empty.see(None)
    assert json.loads(empty.healthz(NOW)[1])["lastUpdated"] == "0001-01-01 00:00:00 +0000 UTC"

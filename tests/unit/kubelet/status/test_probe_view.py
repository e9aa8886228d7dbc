"""Verdicts of probes by container, as a table."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Container
from podling.kubelet.status.probe_view import ProbeResult, ProbeView

OK, BAD = ProbeResult.SUCCESS, ProbeResult.FAILURE
PROBE: dict[str, Any] = {"exec": {"command": ["true"]}}


@pytest.mark.parametrize(
    ("probes", "view", "started", "ready"),
    [
        ({}, ProbeView(), True, True),
        ({"startupProbe": PROBE}, ProbeView(), False, False),
        ({"startupProbe": PROBE}, ProbeView(startup={"c": BAD}), False, False),
        ({"startupProbe": PROBE}, ProbeView(startup={"c": OK}), True, True),
        ({"readinessProbe": PROBE}, ProbeView(), True, False),
        ({"readinessProbe": PROBE}, ProbeView(readiness={"c": OK}), True, True),
        ({"readinessProbe": PROBE}, ProbeView(readiness={"other": OK}), True, False),
        ({"startupProbe": PROBE, "readinessProbe": PROBE}, ProbeView(readiness={"c": OK}), False, False),
    ],
)
def test_container_is_ready_once_its_probes_succeeded(
    probes: dict[str, Any], view: ProbeView, started: bool, ready: bool
) -> None:
    container = msgspec.convert({"name": "app", **probes}, Container)
    assert (view.started(container, "c"), view.ready(container, "c")) == (started, ready)


def test_missing_verdict_is_no_failure() -> None:
    view = ProbeView(liveness={"c": BAD}, startup={"c": BAD})
    assert [view.failed_liveness(id_) for id_ in ("c", "d")] == [True, False]
    assert [view.failed_startup(id_) for id_ in ("c", "d")] == [True, False]

"""Tests of the computed ComponentStatuses."""

from __future__ import annotations

from podling.apiserver.kinds.core.component_statuses import component_statuses


def test_failed_check_makes_component_unhealthy() -> None:
    good, bad = component_statuses({"scheduler": lambda: "", "etcd-0": lambda: "connection refused"})
    assert [each.metadata.name for each in (good, bad)] == ["scheduler", "etcd-0"]
    assert [(each.type, each.status, each.message) for each in (*good.conditions, *bad.conditions)] == [
        ("Healthy", "True", "ok"),
        ("Healthy", "False", "connection refused"),
    ]

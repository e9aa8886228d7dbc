"""Decisions about whole autoscalers: cases of ``horizontal_test.go``, by their conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from msgspec import structs

from podling.api.autoscaling_v1 import Scale, ScaleSpec, ScaleStatus
from podling.api.autoscaling_v2 import HorizontalPodAutoscaler, HorizontalPodAutoscalerStatus
from podling.controllers.autoscaling import decisions
from podling.controllers.autoscaling.decisions import Decision, Seen, decide, tolerances_of
from podling.controllers.autoscaling.metric_proposals import FailedReading, PodReading, Reading, ValueReading
from podling.controllers.autoscaling.scaling_limits import begun
from tests.unit.controllers.autoscaling.autoscaled import NOW, SETTINGS, levels, pod, scaled


def cpu(percent: int) -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def external(name: str = "qps", **target: str) -> dict[str, Any]:
    return {
        "type": "External",
        "external": {"metric": {"name": name}, "target": {"type": "Value", **target}},
    }


def decided(
    current: int,
    metrics: Sequence[dict[str, Any]],
    readings: Sequence[Reading],
    status: HorizontalPodAutoscalerStatus | None = None,
    **spec: Any,
) -> Decision:
    plain = {
        "metadata": {"name": "h", "namespace": "test"},
        "spec": {
            "maxReplicas": 6,
            "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
            "metrics": list(metrics),
            **spec,
        },
    }
    hpa = msgspec.convert(plain, HorizontalPodAutoscaler)
    hpa = structs.replace(hpa, status=status or hpa.status)
    scale = Scale(spec=ScaleSpec(replicas=current), status=ScaleStatus(replicas=current, selector="app=x"))
    pods = [pod(f"p{place}") for place in range(current)]
    whole = structs.replace(scaled(pods, current), tolerances=tolerances_of(hpa, SETTINGS))
    history = begun(None, current, NOW)
    return decide(hpa, Seen(scale=scale, scaled=whole, readings=readings, history=history))


def reasons(decision: Decision) -> list[tuple[str, str, str]]:
    return [(each.type, each.status, each.reason) for each in decision.hpa.status.conditions]


GOT = ("AbleToScale", "True", "SucceededGetScale")
STABLE = ("AbleToScale", "True", "ScaleDownStabilized")
READY = ("AbleToScale", "True", "ReadyForNewScale")
VALID = ("ScalingActive", "True", "ValidMetricFound")
WITHIN = ("ScalingLimited", "False", "DesiredWithinRange")


@pytest.mark.parametrize(
    ("current", "target", "used", "spec", "expected", "conditions"),
    [
        pytest.param(3, 30, (300, 500, 700), {}, 5, [READY, VALID, WITHIN], id="scale up"),
        pytest.param(3, 100, (1010, 1030, 1020), {}, None, [READY, VALID, WITHIN], id="tolerance"),
        pytest.param(5, 50, (100, 300, 500, 250, 250), {}, None, [STABLE, VALID, WITHIN], id="down waits"),
        pytest.param(
            2,
            90,
            (8000, 9500),
            {"maxReplicas": 5},
            4,
            [READY, VALID, ("ScalingLimited", "True", "ScaleUpLimit")],
            id="scale up by its rate",
        ),
        pytest.param(
            3,
            90,
            (8000, 9500, 1000),
            {"maxReplicas": 5},
            5,
            [READY, VALID, ("ScalingLimited", "True", "TooManyReplicas")],
            id="scale up to the most",
        ),
        pytest.param(
            2,
            90,
            (10, 10),
            {"minReplicas": 2},
            None,
            [STABLE, VALID, WITHIN],
            id="down to the fewest",
        ),
        pytest.param(3, 90, (10, 10, 10), {"maxReplicas": 2}, 2, [GOT], id="more than the most"),
        pytest.param(1, 90, (10,), {"minReplicas": 2}, 2, [GOT], id="fewer than the fewest"),
        pytest.param(
            0, 90, (), {}, None, [GOT, ("ScalingActive", "False", "ScalingDisabled")], id="nothing to scale"
        ),
    ],
)
def test_resource_metrics_decide_replicas(
    current: int,
    target: int,
    used: Sequence[int],
    spec: dict[str, Any],
    expected: int | None,
    conditions: list[tuple[str, str, str]],
) -> None:
    found = decided(current, [cpu(target)], [PodReading(levels(used))], **spec)
    assert found.rescale_to == expected
    assert reasons(found) == conditions


@pytest.mark.parametrize(
    ("current", "target", "value", "expected"),
    [
        (3, {"value": "6666m"}, 8600, 4),
        (3, {"averageValue": "2222m"}, 8600, 4),
        (3, {"value": "8888m"}, 8600, None),
        (3, {"averageValue": "2900m"}, 8600, None),
        (1, {"value": "1"}, 1000000, 4),
    ],
)
def test_external_metrics_decide_replicas(
    current: int, target: dict[str, str], value: int, expected: int | None
) -> None:
    assert decided(current, [external(**target)], [ValueReading(value)]).rescale_to == expected


@pytest.mark.parametrize(
    ("current", "readings", "expected", "active"),
    [
        (3, [PodReading(levels((300, 500, 700))), FailedReading("x")], 5, ("True", "ValidMetricFound")),
        (
            3,
            [PodReading(levels((30, 50, 70))), FailedReading("x")],
            None,
            ("False", "FailedGetExternalMetric"),
        ),
        (3, [FailedReading("y"), FailedReading("x")], None, ("False", "FailedGetResourceMetric")),
        (3, [FailedReading("y"), ValueReading(1)], None, ("False", "FailedGetResourceMetric")),
        (3, [FailedReading("y"), ValueReading(5000)], 6, ("True", "ValidMetricFound")),
        (3, [PodReading(levels((300, 500, 700))), ValueReading(1000)], 5, ("True", "ValidMetricFound")),
    ],
)
def test_highest_of_several_metrics(
    current: int, readings: Sequence[Reading], expected: int | None, active: tuple[str, str]
) -> None:
    found = decided(current, [cpu(30), external(value="1")], readings)
    assert found.rescale_to == expected
    assert ("ScalingActive", *active) in reasons(found)
    failed = [each.reason for each in found.events if each.reason == "FailedComputeMetricsReplicas"]
    assert bool(failed) == (active[0] == "False")


@pytest.mark.parametrize(
    ("metric", "reason", "why"),
    [
        ({"type": "CheddarCheese"}, "InvalidMetricSourceType", 'unknown metric source type "CheddarCheese"'),
        (
            external(),
            "FailedGetExternalMetric",
            "invalid external metric source: neither a value target nor an average value target was set",
        ),
        (
            {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}},
            "FailedGetResourceMetric",
            "invalid resource metric source: neither an average utilization target nor an average value "
            "(usage) target was set",
        ),
    ],
)
def test_metric_without_meaning(metric: dict[str, Any], reason: str, why: str) -> None:
    found = decided(3, [metric], [FailedReading("")])
    assert found.rescale_to is None
    assert (found.events[0].reason, found.events[0].message) == (reason, why)


def test_scale_to_zero_with_an_external_metric() -> None:
    metric, reading = external(value="1"), ValueReading(0)
    behavior = {
        "scaleDown": {
            "stabilizationWindowSeconds": 0,
            "selectPolicy": "Max",
            "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
        },
        "scaleUp": {"selectPolicy": "Max"},
    }
    found = decided(2, [metric], [reading], minReplicas=0, behavior=behavior)
    assert found.rescale_to == 0
    assert decided(0, [metric], [ValueReading(2500)], minReplicas=0).rescale_to == 3


def test_last_of_several_metrics_that_need_nothing_is_named() -> None:
    metrics = [external(value="1"), external("rps", value="1")]
    found = decided(2, metrics, [ValueReading(0), ValueReading(0)], minReplicas=0)
    active = next(each for each in found.hpa.status.conditions if each.type == "ScalingActive")
    assert active.message.endswith("from external metric rps(nil)")


@pytest.mark.parametrize(("current", "kept"), [(1, 0), (2, 1), (4, 1), (5, 0)])
def test_status_has_no_metrics_while_replicas_are_out_of_bounds(current: int, kept: int) -> None:
    readings = [PodReading(levels((900,) * current))]
    before = decided(3, [cpu(90)], [PodReading(levels((900,) * 3))]).hpa
    assert before.status.current_metrics
    found = decided(current, [cpu(90)], readings, status=before.status, minReplicas=2, maxReplicas=4)
    assert len(found.hpa.status.current_metrics) == kept


def test_failed_write_is_a_condition() -> None:
    decision = decided(3, [cpu(30)], [PodReading(levels((300, 500, 700)))])
    failed = decisions.not_rescaled(decision, 3, "no space", NOW)
    able = failed.hpa.status.conditions[0]
    assert (able.status, able.reason) == ("False", "FailedUpdateScale")
    assert able.message == "the HPA controller was unable to update the target scale: no space"
    assert failed.events[-1].message.startswith("New size: 5; reason: cpu resource utilization")
    assert failed.events[-1].message.endswith("above target; error: no space")
    assert failed.hpa.status.current_replicas == 3


def test_transition_times_move_with_the_status_alone() -> None:
    decision = decided(3, [cpu(100)], [PodReading(levels((1000, 1000, 1000)))])
    later = NOW.replace(year=NOW.year + 1)
    verdict = decisions.GOT_SCALE
    again = decisions.with_verdict(decision.hpa, decisions.ABLE, verdict, later)
    assert again.status.conditions[0].last_transition_time == NOW
    changed = decisions.with_verdict(decision.hpa, decisions.ACTIVE, decisions.DISABLED, later)
    assert changed.status.conditions[1].last_transition_time == later

"""The use between two samples of a kubelet; the cases are those of metrics-server's storage."""

from __future__ import annotations

from datetime import timedelta

import pytest

from podling.apiserver.resource_metrics.page_parsing import NodeSample, Point
from podling.apiserver.resource_metrics.samples import NodeSamples, next_samples
from podling.sim.loop import EPOCH

POD = ("ns1", "pod1")
CORE_SECOND = 1_000_000_000
MIB = 1 << 20


def point(at: float, cores: float, mib: int = 5, started: float | None = 0) -> Point:
    """``cores``: the CPU time in core-seconds."""
    begin = None if started is None else EPOCH + timedelta(seconds=started)
    return Point(EPOCH + timedelta(seconds=at), int(cores * CORE_SECOND), mib * MIB, begin)


def stored(*batches: dict[str, Point]) -> NodeSamples:
    """Return the samples after these batches of one pod's containers came."""
    held: NodeSamples | None = None
    for containers in batches:
        held = next_samples(held, NodeSample(None, {POD: containers} if containers else {}))
    assert held is not None
    return held


@pytest.mark.parametrize(
    ("batches", "expected"),
    [
        pytest.param([point(120, 1)], None, id="one sample of an old container"),
        pytest.param([point(120, 1), point(125, 6)], (125, 5, 1.0), id="two samples"),
        pytest.param([point(110, 1), point(110, 1)], None, id="the same sample twice"),
        pytest.param([point(10, 1), point(35, 5, started=15)], None, id="restarted long ago"),
        pytest.param([point(10, 1), point(25, 5, started=15)], (25, 10, 0.5), id="restarted just now"),
        pytest.param([point(115, 20), point(125, 40), point(15, 10)], None, id="older than both"),
        pytest.param([point(115, 10), point(125, 50), point(120, 35)], (120, 5, 5.0), id="between both"),
        pytest.param([point(10, 10)], (10, 10, 1.0), id="fresh container"),
        pytest.param([point(14.9, 14.9)], (14.9, 14.9, 1.0), id="fresh until the next sample"),
        pytest.param([point(15, 15)], None, id="no longer fresh"),
        pytest.param([point(9, 10)], None, id="too fresh"),
        pytest.param([point(-10, 10)], None, id="started after the sample"),
        pytest.param(
            [point(120, 1, started=None), point(125, 6, started=None)], (125, 5, 1.0), id="no start"
        ),
    ],
)
def test_use_of_a_container(batches: list[Point], expected: tuple[float, float, float] | None) -> None:
    """``expected``: the end of the window, its length and the cores in use."""
    uses = stored(*({"c": each} for each in batches)).pod_use(*POD)
    if expected is None:
        assert not uses
        return
    assert uses is not None
    use = uses["c"]
    at, window, cores = expected
    assert (use.at, use.window) == (EPOCH + timedelta(seconds=at), timedelta(seconds=window))
    assert use.cpu_nanocores == int(cores * CORE_SECOND)
    assert use.memory_bytes == 5 * MIB


def test_falling_counter_has_no_use() -> None:
    assert stored({"c": point(110, 20)}, {"c": point(120, 10)}).pod_use(*POD) == {}


def test_pod_is_unknown_while_one_container_is() -> None:
    started = {"old": point(125, 6), "new": point(125, 1, started=124)}
    assert stored({"old": point(120, 1)}, started).pod_use(*POD) is None


def test_pod_without_a_new_sample_is_forgotten() -> None:
    assert stored({"c": point(110, 1)}, {"c": point(120, 2)}, {}).pod_use(*POD) is None


def test_quantities_are_canonical() -> None:
    uses = stored({"c": point(110, 0)}, {"c": point(120, 2.5, mib=3)}).pod_use(*POD)
    assert uses is not None
    assert uses["c"].quantities() == {"cpu": "250m", "memory": "3Mi"}


@pytest.mark.parametrize(
    ("points", "cores"),
    [
        ([point(100, 1)], None),
        ([point(100, 1), point(110, 6)], 0.5),
        ([point(100, 1), point(100, 1)], None),
        ([point(100, 10), point(110, 6)], None),
        ([point(100, 1), point(110, 6), point(110, 6)], 0.5),
        ([point(100, 1), point(110, 6), point(120, 26)], 2.0),
    ],
)
def test_use_of_a_node(points: list[Point], cores: float | None) -> None:
    held: NodeSamples | None = None
    for each in points:
        held = next_samples(held, NodeSample(each, {}))
    assert held is not None
    use = held.node_use()
    assert (use.cpu_nanocores / CORE_SECOND if use is not None else None) == cores

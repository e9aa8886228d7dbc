"""The last two samples of every node, and the use between them. Pure.

Upstream: metrics-server ``pkg/storage``.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from podling.apiserver.resource_metrics.page_parsing import NodeSample, Point
from podling.machinery.durations import go_duration
from podling.machinery.quantity import Format, Quantity, of

RESOLUTION = timedelta(seconds=15)
"""The time between two samples, at most."""
FRESH = timedelta(seconds=10)
"""A container of this age has a use without an earlier sample: the one since its start."""

PodPoints = dict[tuple[str, str], dict[str, Point]]


class Use(Struct, frozen=True):
    """The mean use of CPU over a window, and the memory at its end."""

    at: datetime
    window: timedelta
    cpu_nanocores: int
    memory_bytes: int

    def quantities(self) -> dict[str, str]:
        """Return the use as the API shows it."""
        cpu = Quantity(self.cpu_nanocores)
        return {"cpu": str(cpu), "memory": str(of(self.memory_bytes, Format.BINARY_SI))}


class NodeSamples(Struct, frozen=True):
    """The newest sample of one node and the points before it, as far as rates can be computed with them."""

    last: NodeSample
    node_before: Point | None = None
    before: PodPoints = {}

    def node_use(self) -> Use | None:
        """Return the use of the machine; None if it is not known yet."""
        if self.last.node is None or self.node_before is None:
            return None
        return use_between(self.node_before, self.last.node)

    def pod_use(self, namespace: str, name: str) -> dict[str, Use] | None:
        """Return the use of the pod's containers; None as long as that of one of them is not known."""
        last, before = self.last.pods.get((namespace, name)), self.before.get((namespace, name), {})
        if last is None or last.keys() - before.keys():
            return None
        uses = {container: use_between(before[container], point) for container, point in last.items()}
        return {container: use for container, use in uses.items() if use is not None}


def next_samples(held: NodeSamples | None, new: NodeSample) -> NodeSamples:
    """Return the samples of a node after another one has come."""
    before: PodPoints = {}
    for pod, containers in new.pods.items():
        points = {}
        for name, point in containers.items():
            earlier = _earlier(held, pod, name, point)
            if earlier is not None:
                points[name] = earlier
        if points:
            before[pod] = points
    node_before = None
    if held is not None and new.node is not None and held.last.node is not None:
        moved = new.node.at > held.last.node.at
        node_before = held.last.node if moved else held.node_before
    return NodeSamples(new, node_before, before)


def _earlier(held: NodeSamples | None, pod: tuple[str, str], name: str, new: Point) -> Point | None:
    """Return the point from which a container's use is computed."""
    started = new.started
    if started is not None and FRESH <= new.at - started < RESOLUTION:
        return Point(started, 0, new.memory_bytes, started)
    last = held.last.pods.get(pod, {}).get(name) if held is not None else None
    if held is None or last is None or (started is not None and started >= last.at):
        return None  # it is new, or has restarted since
    if new.at > last.at:
        return last
    before = held.before.get(pod, {}).get(name)
    return before if before is not None and before.at < new.at else None


def use_between(before: Point, last: Point) -> Use | None:
    """Return the use between two points; None if they contradict each other."""
    window = last.at - before.at
    used = last.cpu_nanoseconds - before.cpu_nanoseconds
    if used < 0 or window <= timedelta(0):
        return None
    return Use(last.at, window, int(used / window.total_seconds()), last.memory_bytes)


def window_text(window: timedelta) -> str:
    """Return a window as the API shows it: ``15.021s``."""
    return go_duration(window.total_seconds())

"""The settings of a test's cluster, and the texts in which markers and options write them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from podling.machinery.durations import seconds_of
from podling.machinery.network_ranges import (
    CLUSTER_CIDR,
    DEFAULT_RANGES,
    NODE_PORTS,
    NetworkRanges,
    network_ranges,
)

NODES_MAX = 10_000


class TestSettings(Struct, frozen=True, kw_only=True):
    """The settings of a test's cluster.

    Args:
        nodes: their number, or their settings one by one: ``{"name": "big", "cpu": "64", "zone": "a"}``.
        runtime: scripts of containers, pods and images by pattern: ``{"containers": {"default/web-*/*":
            {"startSeconds": 5}}, "images": {"*slow*": {"pullSeconds": 90}}}``.
        clock: ``paused``; ``running`` with the machine's time; or a speed such as ``60x``.
        start: the moment at which the cluster begins; None: the machine's time.
        seed: decides what is random in the cluster.
        settle: seconds of the machine's time that clients over HTTPS have to react before time goes on.
        service_range: the addresses of Services; empty: the default.
    """

    __test__ = False  # pytest takes it for a test by its name

    nodes: int | Sequence[Mapping[str, Any]] = 1
    runtime: Mapping[str, Any] | None = None
    clock: str = "paused"
    start: str | datetime | None = None
    seed: int = 0
    settle: float = 0.01
    service_range: str = ""

    def checked(self) -> TestSettings:
        """Return these settings. Raises ``ValueError`` for those that make no sense."""
        if isinstance(self.nodes, int) and not 0 <= self.nodes <= NODES_MAX:
            raise ValueError(f"nodes={self.nodes}: there are 0 to {NODES_MAX:,}")
        speed_of(self.clock)
        moment_of(self.start)
        ranges_of(self)
        return self


def settings_from(values: Mapping[str, Any]) -> TestSettings:
    """Return the settings of a marker's keywords. Raises ``ValueError`` for unknown and impossible ones."""
    unknown = sorted(values.keys() - set(TestSettings.__struct_fields__))
    if unknown:
        known = ", ".join(TestSettings.__struct_fields__)
        raise ValueError(f"unknown settings of a cluster: {', '.join(unknown)}; there are: {known}")
    return TestSettings(**values).checked()


def settings_in(text: str, name: str) -> Mapping[str, Any]:
    """Return the settings in the YAML text of the file ``name``. Raises ``ValueError``."""
    import yaml

    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"{name}: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{name} has no settings of a cluster")
    return found


def speed_of(clock: str) -> float:
    """Return the speed that a setting names; 0 for a paused clock. Raises ``ValueError``."""
    if clock in ("paused", "running"):
        return float(clock == "running")
    try:
        speed = float(clock.removesuffix("x"))
    except ValueError:
        speed = -1.0
    if not (clock.endswith("x") and speed > 0):
        raise ValueError(f"clock={clock!r}: there are 'paused', 'running' and speeds such as '60x'")
    return speed


def moment_of(start: str | datetime | None) -> datetime | None:
    """Return the beginning that a setting names, in UTC. Raises ``ValueError``."""
    if start is None:
        return None
    moment = datetime.fromisoformat(start) if isinstance(start, str) else start
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def ranges_of(settings: TestSettings) -> NetworkRanges:
    """Return the cluster's address ranges. Raises ``ValueError``."""
    if not settings.service_range:
        return DEFAULT_RANGES
    return network_ranges(CLUSTER_CIDR, settings.service_range, NODE_PORTS)


def span_of(length: str | float) -> float:
    """Return the seconds of ``5m`` or of a number. Raises ``ValueError``."""
    return seconds_of(length) if isinstance(length, str) else float(length)

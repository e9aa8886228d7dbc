"""Pages in Prometheus' text format 0.0.4.

The DNS process does not use the library ``prometheus_client``: its import would hold questions up for a tenth
of a second, costs megabytes, and is impossible without privileges where Python's modules are the node's
user's own.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterable, Mapping
from typing import Any

from podling.machinery.histograms import Histogram, Values


class Page:
    """Lines of a page, family by family."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def counters(
        self, name: str, text: str, labels: Iterable[str] = (), found: Mapping[Values, float] | None = None
    ) -> None:
        """Add a family of counters; ``name`` is without its suffix."""
        self._family(f"{name}_total", "counter", text, tuple(labels), found if found is not None else {})

    def gauges(
        self, name: str, text: str, labels: Iterable[str] = (), found: Mapping[Values, float] | None = None
    ) -> None:
        self._family(name, "gauge", text, tuple(labels), found if found is not None else {})

    def histograms(
        self, name: str, text: str, labels: Iterable[str], found: Mapping[Values, Histogram]
    ) -> None:
        names = tuple(labels)
        self._head(name, "histogram", text)
        for values, histogram in found.items():
            for bound, count in histogram.cumulative():
                self._sample(f"{name}_bucket", (*names, "le"), (*values, bound), count)
            self._sample(f"{name}_count", names, values, histogram.count)
            self._sample(f"{name}_sum", names, values, histogram.total)

    def _family(self, name: str, kind: str, text: str, labels: Values, found: Mapping[Any, float]) -> None:
        self._head(name, kind, text)
        for values, value in found.items():
            self._sample(name, labels, values, value)

    def _head(self, name: str, kind: str, text: str) -> None:
        escaped = text.replace("\\", "\\\\").replace("\n", "\\n")
        self._lines += (f"# HELP {name} {escaped}", f"# TYPE {name} {kind}")

    def _sample(self, name: str, labels: tuple[str, ...], values: tuple[str, ...], value: float) -> None:
        named = sorted(zip(labels, values, strict=True))
        pairs = (f'{label}="{_escaped(each)}"' for label, each in named)
        braces = f"{{{','.join(pairs)}}}" if labels else ""
        self._lines.append(f"{name}{braces} {float(value)!r}")

    def process(self) -> None:
        """Add the figures of this process, under the names that every Prometheus library uses."""
        with open("/proc/self/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        ticks = os.sysconf("SC_CLK_TCK")
        with open("/proc/stat") as file:
            booted = next(float(line.split()[1]) for line in file if line.startswith("btime"))
        none: tuple[()] = ()
        text = "Total user and system CPU time spent in seconds."
        used = (int(fields[11]) + int(fields[12])) / ticks
        self.counters("process_cpu_seconds", text, found={none: used})
        for name, explained, value in (
            ("virtual_memory_bytes", "Virtual memory size in bytes.", float(fields[20])),
            (
                "resident_memory_bytes",
                "Resident memory size in bytes.",
                float(fields[21]) * resource.getpagesize(),
            ),
            (
                "start_time_seconds",
                "Start time of the process since unix epoch in seconds.",
                booted + int(fields[19]) / ticks,
            ),
            ("open_fds", "Number of open file descriptors.", len(os.listdir("/proc/self/fd"))),
            (
                "max_fds",
                "Maximum number of open file descriptors.",
                resource.getrlimit(resource.RLIMIT_NOFILE)[0],
            ),
        ):
            self.gauges(f"process_{name}", explained, found={none: value})

    def encode(self) -> bytes:
        return "".join(f"{line}\n" for line in self._lines).encode()


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

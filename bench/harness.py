"""Shared parts of the benchmarks: figures with their floors, a table, a cluster.

Only the table shows a missed goal: figures depend on other load of the machine, so the exit code says only
whether everything could be measured. Measure a bad figure again on a quiet machine.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PODLING = [sys.executable, "-m", "podling"]


@dataclass(frozen=True)
class Figure:
    """One measured value. ``goal`` bounds ``value / floor`` where there is a floor, else ``value``.

    With ``more_is_better`` the bound is a minimum, otherwise a maximum.
    """

    name: str
    value: float
    unit: str
    floor: float | None = None
    floor_name: str = ""
    goal: float | None = None
    more_is_better: bool = False

    @property
    def measure(self) -> float:
        return self.value / self.floor if self.floor else self.value

    @property
    def reached(self) -> bool | None:
        if self.goal is None:
            return None
        return self.measure >= self.goal if self.more_is_better else self.measure <= self.goal

    def row(self) -> tuple[str, ...]:
        unit = "" if self.floor else f" {self.unit}"
        bound = "" if self.goal is None else f"{'≥' if self.more_is_better else '≤'} {self.goal:g}"
        return (
            self.name,
            f"{self.value:.4g} {self.unit}",
            f"{self.floor:.4g} {self.unit} ({self.floor_name})" if self.floor else "-",
            f"{self.measure:.3g}{' x' if self.floor else unit}",
            f"{bound}{' x' if bound and self.floor else unit if bound else ''}" or "-",
            {True: "reached", False: "MISSED", None: ""}[self.reached],
        )


def show(figures: Sequence[Figure]) -> None:
    """Print figures as a plain table."""
    rows = [("figure", "measured", "floor", "ratio", "goal", ""), *(figure.row() for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    sys.stdout.flush()


def median(run: Callable[[], float], times: int) -> float:
    return statistics.median(run() for _ in range(times))


def timed(command: Sequence[str], **options: object) -> float:
    """Return the wall seconds of a command, which must succeed."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **options)  # type: ignore[call-overload]
    return time.perf_counter() - start


def import_floor(times: int = 5) -> float:
    """Return the median seconds of a Python process with the imports that any such server needs."""
    command = [sys.executable, "-c", "import aiohttp, uvloop, msgspec, ssl, sqlite3"]
    timed(command)
    return median(lambda: timed(command), times)


@dataclass(frozen=True)
class BenchCluster:
    """A running cluster of the benchmark's own."""

    data_directory: Path
    pid: int

    @property
    def kubeconfig(self) -> Path:
        return self.data_directory / "admin.kubeconfig"

    def kubectl(self, *arguments: str) -> str:
        command = ["kubectl", "--kubeconfig", str(self.kubeconfig), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@contextlib.contextmanager
def cluster(*options: str) -> Iterator[BenchCluster]:
    """Run ``podling up --detach`` in a new directory; take the cluster down at the end."""
    directory = Path(tempfile.mkdtemp(prefix="podling-bench-"))
    try:
        arguments = ["--data-dir", str(directory)]
        subprocess.run(
            [*PODLING, "up", *arguments, "--port", "0", "--detach", *options],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        yield BenchCluster(directory, int((directory / "podling.pid").read_text()))
    finally:
        subprocess.run([*PODLING, "down", *arguments, "--grace", "0"], check=False, stdout=subprocess.DEVNULL)
        shutil.rmtree(directory, ignore_errors=True)


def memory_mib(pid: int) -> float:
    """Return a process' proportional memory in MiB."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) / 1024


def cpu_seconds(pid: int) -> float:
    """Return the user and system seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_seconds_of_children(pid: int) -> float:
    """Return the user and system seconds of the processes that a process started and waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")

"""Everything that a cgroup counts, read from the files of version 1 or version 2.

Names and meanings: the kernel's ``Documentation/admin-guide/cgroup-v1`` and ``cgroup-v2.rst``; which of them
make up a figure: ``opencontainers/cgroups`` and cAdvisor's ``container/libcontainer/handler.go``.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from podling.runtime.figures import CgroupFigures, DiskFigures, Pressure, Stall
from podling.runtime.oci.cgroups import Cgroups

TICK_NANOSECONDS = 10_000_000
"""The unit of ``cpuacct.stat``: a hundredth of a second (``USER_HZ``)."""
RESOURCES = ("cpu", "memory", "io")


def cgroup_figures(cgroups: Cgroups, path: str) -> CgroupFigures:
    """Return the figures of ``path``; zeros for files that are not there, and if it is gone."""
    reader = _Reader(cgroups, path)
    return _version_2(reader) if cgroups.unified else _version_1(reader)


class _Reader:
    """The files of one cgroup."""

    def __init__(self, cgroups: Cgroups, path: str) -> None:
        self._cgroups = cgroups
        self._path = path

    def text(self, controller: str, name: str) -> str:
        try:
            return (self._cgroups.place(controller, self._path) / name).read_text()
        except OSError:
            return ""

    def number(self, controller: str, name: str) -> int:
        """Return a file's number; 0 for ``max`` and where there is none."""
        text = self.text(controller, name).strip()
        return int(text) if text.isdigit() else 0

    def keyed(self, controller: str, name: str) -> dict[str, int]:
        pairs = (line.split() for line in self.text(controller, name).splitlines())
        return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}

    def processes(self) -> int:
        """Return the number of processes here and below; ``pids.current`` counts threads."""
        top = self._cgroups.place("pids", self._path)
        found = 0
        try:
            for directory in (top, *(each for each in top.rglob("*") if each.is_dir())):
                found += len((directory / "cgroup.procs").read_text().split())
        except OSError:
            return found  # it was removed while we looked
        return found


def _version_1(reader: _Reader) -> CgroupFigures:
    memory, cpu = reader.keyed("memory", "memory.stat"), reader.keyed("cpu", "cpu.stat")
    ticks, used = reader.keyed("cpuacct", "cpuacct.stat"), reader.number("memory", "memory.usage_in_bytes")
    inactive = memory.get("total_inactive_file", 0)
    return CgroupFigures(
        cpu_nanoseconds=reader.number("cpuacct", "cpuacct.usage"),
        cpu_user_nanoseconds=ticks.get("user", 0) * TICK_NANOSECONDS,
        cpu_system_nanoseconds=ticks.get("system", 0) * TICK_NANOSECONDS,
        periods=cpu.get("nr_periods", 0),
        throttled_periods=cpu.get("nr_throttled", 0),
        throttled_nanoseconds=cpu.get("throttled_time", 0),
        memory_bytes=used,
        memory_working_set_bytes=max(0, used - inactive),
        memory_max_bytes=reader.number("memory", "memory.max_usage_in_bytes"),
        rss_bytes=memory.get("total_rss", 0),
        cache_bytes=memory.get("total_cache", 0),
        mapped_file_bytes=memory.get("total_mapped_file", 0),
        kernel_bytes=reader.number("memory", "memory.kmem.usage_in_bytes"),
        swap_bytes=memory.get("total_swap", 0),
        active_file_bytes=memory.get("total_active_file", 0),
        inactive_file_bytes=inactive,
        limit_hits=reader.number("memory", "memory.failcnt"),
        page_faults=memory.get("total_pgfault", 0),
        major_page_faults=memory.get("total_pgmajfault", 0),
        oom_kills=reader.keyed("memory", "memory.oom_control").get("oom_kill", 0),
        processes=reader.processes(),
        threads=reader.number("pids", "pids.current"),
        threads_max=reader.number("pids", "pids.max"),
        disks=throttled_disks(
            reader.text("blkio", "blkio.throttle.io_serviced"),
            reader.text("blkio", "blkio.throttle.io_service_bytes"),
        ),
    )


def _version_2(reader: _Reader) -> CgroupFigures:
    memory, cpu = reader.keyed("", "memory.stat"), reader.keyed("", "cpu.stat")
    events, used = reader.keyed("", "memory.events"), reader.number("", "memory.current")
    inactive = memory.get("inactive_file", 0)
    pressure = {name: pressure_of(reader.text("", f"{name}.pressure")) for name in RESOURCES}
    return CgroupFigures(
        cpu_nanoseconds=cpu.get("usage_usec", 0) * 1000,
        cpu_user_nanoseconds=cpu.get("user_usec", 0) * 1000,
        cpu_system_nanoseconds=cpu.get("system_usec", 0) * 1000,
        periods=cpu.get("nr_periods", 0),
        throttled_periods=cpu.get("nr_throttled", 0),
        throttled_nanoseconds=cpu.get("throttled_usec", 0) * 1000,
        memory_bytes=used,
        memory_working_set_bytes=max(0, used - inactive),
        memory_max_bytes=reader.number("", "memory.peak"),
        rss_bytes=memory.get("anon", 0),
        cache_bytes=memory.get("file", 0),
        mapped_file_bytes=memory.get("file_mapped", 0),
        kernel_bytes=memory.get("kernel", 0),
        swap_bytes=reader.number("", "memory.swap.current"),
        active_file_bytes=memory.get("active_file", 0),
        inactive_file_bytes=inactive,
        limit_hits=events.get("max", 0),
        page_faults=memory.get("pgfault", 0),
        major_page_faults=memory.get("pgmajfault", 0),
        oom_kills=events.get("oom_kill", 0),
        processes=reader.processes(),
        threads=reader.number("", "pids.current"),
        threads_max=reader.number("", "pids.max"),
        disks=disks_of(reader.text("", "io.stat")),
        pressure={name: found for name, found in pressure.items() if found is not None},
    )


def throttled_disks(counts: str, amounts: str) -> tuple[DiskFigures, ...]:
    """Return the disks of version 1's two files: how many transfers there were, and of how many bytes."""
    found: dict[str, dict[str, int]] = {}
    for text, (read, written) in ((counts, ("reads", "writes")), (amounts, ("read_bytes", "written_bytes"))):
        for line in text.splitlines():
            parts = line.split()
            name = {"Read": read, "Write": written}.get(parts[1]) if len(parts) == 3 else None
            if name is not None and parts[2].isdigit():
                found.setdefault(parts[0], {})[name] = int(parts[2])
    return tuple(DiskFigures(device=device, **fields) for device, fields in sorted(found.items()))


_IO_STAT = {"rios": "reads", "wios": "writes", "rbytes": "read_bytes", "wbytes": "written_bytes"}


def disks_of(io_stat: str) -> tuple[DiskFigures, ...]:
    """Return the disks of version 2's ``io.stat``."""
    found = []
    for line in io_stat.splitlines():
        device, *pairs = line.split() or [""]
        fields = {_IO_STAT[key]: int(number) for key, number in _pairs(pairs) if key in _IO_STAT}
        if fields:
            found.append(DiskFigures(device=device, **fields))
    return tuple(found)


def pressure_of(text: str) -> Pressure | None:
    """Return pressure stall information, None where the kernel has none."""
    lines = {line.split()[0]: dict(_texts(line.split()[1:])) for line in text.splitlines() if line.strip()}
    if "some" not in lines:
        return None
    return Pressure(_stall(lines["some"]), _stall(lines.get("full", {})))


def _stall(fields: dict[str, str]) -> Stall:
    averages = {name: float(fields.get(name, "0")) for name in ("avg10", "avg60", "avg300")}
    return Stall(**averages, total_microseconds=int(fields.get("total", "0")))


def _texts(pairs: Iterable[str]) -> Iterable[tuple[str, str]]:
    return ((key, number) for key, _, number in (pair.partition("=") for pair in pairs))


def _pairs(pairs: Iterable[str]) -> Iterable[tuple[str, int]]:
    return ((key, int(number)) for key, number in _texts(pairs) if number.isdigit())


def open_files_of(pid: int) -> int:
    """Return a process' soft limit of open files: -1 for none, 0 if it is gone."""
    try:
        lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
    except OSError:
        return 0
    soft = next((line.split()[3] for line in lines if line.startswith("Max open files")), "0")
    return int(soft) if soft.isdigit() else -1

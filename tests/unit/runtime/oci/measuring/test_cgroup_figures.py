"""Everything that a cgroup counts, from files as the kernel writes them."""

from __future__ import annotations

from pathlib import Path

from podling.runtime.figures import CgroupFigures, DiskFigures, Pressure, Stall
from podling.runtime.oci.cgroups import Cgroups
from podling.runtime.oci.detect import CgroupMode
from podling.runtime.oci.measuring.cgroup_figures import cgroup_figures, open_files_of, pressure_of


def write(place: Path, files: dict[str, str]) -> None:
    place.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (place / name).write_text(text)


def test_figures_of_version_1(tmp_path: Path) -> None:
    cgroups = Cgroups(CgroupMode.LEGACY, tmp_path)
    write(tmp_path / "cpuacct/pods/a", {"cpuacct.usage": "5000\n", "cpuacct.stat": "user 3\nsystem 2\n"})
    write(tmp_path / "cpu/pods/a", {"cpu.stat": "nr_periods 9\nnr_throttled 4\nthrottled_time 77\n"})
    counts = "total_cache 1\ntotal_rss 2\ntotal_mapped_file 3\ntotal_swap 4\ntotal_pgfault 5\n"
    counts += "total_pgmajfault 6\ntotal_inactive_file 7\ntotal_active_file 8\n"
    memory = {
        "memory.stat": counts,
        "memory.usage_in_bytes": "100\n",
        "memory.max_usage_in_bytes": "150\n",
        "memory.failcnt": "2\n",
        "memory.kmem.usage_in_bytes": "11\n",
        "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
    }
    write(tmp_path / "memory/pods/a", memory)
    write(tmp_path / "pids/pods/a", {"pids.current": "6\n", "pids.max": "max\n", "cgroup.procs": "10\n11\n"})
    write(tmp_path / "pids/pods/a/main", {"cgroup.procs": "12\n"})
    blkio = {
        "blkio.throttle.io_serviced": "8:0 Read 1\n8:0 Write 2\n8:0 Total 3\nTotal 3\n",
        "blkio.throttle.io_service_bytes": "8:0 Read 10\n8:0 Write 20\nTotal 30\n",
    }
    write(tmp_path / "blkio/pods/a", blkio)
    assert cgroup_figures(cgroups, "/pods/a") == CgroupFigures(
        cpu_nanoseconds=5000,
        cpu_user_nanoseconds=30_000_000,
        cpu_system_nanoseconds=20_000_000,
        periods=9,
        throttled_periods=4,
        throttled_nanoseconds=77,
        memory_bytes=100,
        memory_working_set_bytes=93,
        memory_max_bytes=150,
        rss_bytes=2,
        cache_bytes=1,
        mapped_file_bytes=3,
        kernel_bytes=11,
        swap_bytes=4,
        active_file_bytes=8,
        inactive_file_bytes=7,
        limit_hits=2,
        page_faults=5,
        major_page_faults=6,
        oom_kills=1,
        processes=3,
        threads=6,
        disks=(DiskFigures(device="8:0", reads=1, writes=2, read_bytes=10, written_bytes=20),),
    )


def test_figures_of_version_2(tmp_path: Path) -> None:
    cgroups = Cgroups(CgroupMode.UNIFIED, tmp_path)
    cpu = "usage_usec 5\nuser_usec 3\nsystem_usec 2\nnr_periods 9\nnr_throttled 4\nthrottled_usec 7\n"
    counts = (
        "anon 2\nfile 1\nkernel 11\nfile_mapped 3\ninactive_file 7\nactive_file 8\npgfault 5\npgmajfault 6\n"
    )
    stalls = (
        "some avg10=1.50 avg60=0.50 avg300=0.10 total=12\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=3\n"
    )
    files = {
        "cpu.stat": cpu,
        "memory.stat": counts,
        "memory.current": "100\n",
        "memory.peak": "150\n",
        "memory.swap.current": "4\n",
        "memory.events": "low 0\nhigh 0\nmax 2\noom 1\noom_kill 1\n",
        "pids.current": "6\n",
        "pids.max": "40\n",
        "cgroup.procs": "10\n",
        "io.stat": "8:0 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0\n8:16 \n",
        "memory.pressure": stalls,
    }
    write(tmp_path / "pods/a", files)
    found = cgroup_figures(cgroups, "/pods/a")
    assert (found.cpu_nanoseconds, found.cpu_user_nanoseconds, found.throttled_nanoseconds) == (
        5000,
        3000,
        7000,
    )
    assert (found.memory_working_set_bytes, found.rss_bytes, found.cache_bytes) == (93, 2, 1)
    assert (found.swap_bytes, found.limit_hits, found.oom_kills, found.memory_max_bytes) == (4, 2, 1, 150)
    assert (found.processes, found.threads, found.threads_max) == (1, 6, 40)
    assert found.disks == (DiskFigures(device="8:0", reads=1, writes=2, read_bytes=10, written_bytes=20),)
    some = Stall(avg10=1.5, avg60=0.5, avg300=0.1, total_microseconds=12)
    assert found.pressure == {"memory": Pressure(some, Stall(total_microseconds=3))}


def test_cgroup_that_is_gone_has_no_figures(tmp_path: Path) -> None:
    for mode in (CgroupMode.LEGACY, CgroupMode.UNIFIED):
        assert cgroup_figures(Cgroups(mode, tmp_path), "/pods/gone") == CgroupFigures()


def test_kernel_without_pressure_has_none() -> None:
    assert pressure_of("") is None


def test_limit_of_open_files_is_read() -> None:
    import os
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert open_files_of(os.getpid()) == soft
    assert open_files_of(0) == 0

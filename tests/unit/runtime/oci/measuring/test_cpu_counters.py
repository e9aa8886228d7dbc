"""The counters of throttled CPUs."""

from __future__ import annotations

from pathlib import Path

from podling.runtime.oci.measuring.cpu_counters import throttle_counters


def test_directories_that_the_machine_has_are_found(tmp_path: Path) -> None:
    counters = "thermal_throttle"
    for name in (f"cpu0/{counters}", f"cpu11/{counters}", "cpu2/topology", f"cpufreq/{counters}"):
        (tmp_path / name).mkdir(parents=True)
    expected = tuple(str(tmp_path / name / counters) for name in ("cpu0", "cpu11"))
    assert throttle_counters(tmp_path) == expected
    assert throttle_counters(tmp_path / "cpu2") == ()

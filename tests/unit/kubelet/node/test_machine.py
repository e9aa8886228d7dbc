"""Facts about the machine."""

from __future__ import annotations

import platform
from pathlib import Path

from podling.kubelet.node.machine import read_machine


def test_machine_facts_can_be_read() -> None:
    machine = read_machine(Path("/nonexistent/dir"))
    assert machine.cpus >= 1
    assert machine.memory > 0
    assert machine.ephemeral_storage > 0
    assert (machine.operating_system, machine.kernel_version) == (
        platform.system().lower(),
        platform.release(),
    )

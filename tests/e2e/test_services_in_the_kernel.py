"""The proxy's table and tracked connections in a real kernel, in a network namespace of the test's own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import missing_for_containers
from tests.support import service_kernel

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.skipif(bool(missing_for_containers()), reason=missing_for_containers()),
]


@pytest.mark.parametrize("scenario", service_kernel.SCENARIOS)
def test_kernel_holds_what_it_should(scenario: str) -> None:
    command = ["unshare", "--net", sys.executable, "-m", "tests.support.service_kernel", scenario]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[2], check=False, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr

"""A scenario and a seed give one digest: in eight processes at once, with different hashes of strings."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

import pytest

from tests.support.scenarios import FOLDER

pytestmark = pytest.mark.slow

SCENARIO = FOLDER / "partition.yaml"
OTHER_VERSIONS = [found for each in ("3.12", "3.13", "3.14") if (found := shutil.which(f"python{each}"))]
HAS_PODLING = "import podling, aiohttp, msgspec, click"


def digests(interpreters: Sequence[str]) -> set[str]:
    """Run the scenario with each interpreter at the same time; return what their last lines say."""
    processes = [
        subprocess.Popen(
            [interpreter, "-m", "podling", "sim", str(SCENARIO), "--seed", "7"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": str(number)},
        )
        for number, interpreter in enumerate(interpreters)
    ]
    return {process.communicate()[0].splitlines()[-1] for process in processes}


def test_eight_processes_at_once_print_the_same_digest() -> None:
    found = digests([sys.executable] * 8)
    assert len(found) == 1
    assert found.pop().startswith("digest: ")


def test_other_versions_of_python_print_the_same_digest() -> None:
    able = [
        each
        for each in OTHER_VERSIONS
        if subprocess.run([each, "-c", HAS_PODLING], capture_output=True, check=False).returncode == 0
    ]
    if not able:
        pytest.skip("no other version of Python has Podling installed")
    assert len(digests([sys.executable, *able])) == 1

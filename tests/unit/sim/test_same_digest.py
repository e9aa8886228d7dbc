"""A scenario and a seed give one digest: in eight processes at once, with different hashes of strings."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.scenarios import EXAMPLES, FOLDER

pytestmark = pytest.mark.slow

SCENARIO = FOLDER / "partition.yaml"
PYTHONS = "PODLING_PYTHONS"
"""The variable that names other interpreters, as PATH names folders; those on PATH are known without it."""
SOURCE = Path(__file__).parents[3] / "src"
HAS_REQUIREMENTS = "import podling, aiohttp, cryptography, msgspec, click, numpy, yaml"


def environment(hash_seed: object) -> dict[str, str]:
    """Return an environment in which every interpreter runs this checkout."""
    return {**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(SOURCE)}


def other_versions() -> list[str]:
    """Return the interpreters of other versions that have what Podling needs."""
    named = [each for each in os.environ.get(PYTHONS, "").split(os.pathsep) if each]
    found = [shutil.which(f"python3.{minor}") for minor in range(11, 16) if minor != sys.version_info.minor]
    return [
        each
        for each in (*named, *found)
        if each
        and subprocess.run(
            [each, "-c", HAS_REQUIREMENTS], env=environment(0), capture_output=True, check=False
        ).returncode
        == 0
    ]


def digests(interpreters: Sequence[str], scenario: Path = SCENARIO) -> set[str]:
    """Run a scenario with each interpreter at the same time; return what their last lines say."""
    processes = [
        subprocess.Popen(
            [interpreter, "-m", "podling", "sim", str(scenario), "--seed", "7"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment(number),
        )
        for number, interpreter in enumerate(interpreters)
    ]
    return {process.communicate()[0].splitlines()[-1] for process in processes}


def test_eight_processes_at_once_print_the_same_digest() -> None:
    found = digests([sys.executable] * 8)
    assert len(found) == 1
    assert found.pop().startswith("digest: ")


@pytest.mark.parametrize("scenario", EXAMPLES, ids=lambda path: path.stem)
def test_other_versions_of_python_print_the_same_digest(scenario: Path) -> None:
    able = other_versions()
    if not able:
        pytest.skip(f"needs another version of Python with Podling's requirements, on PATH or in ${PYTHONS}")
    found = digests([sys.executable, *able], scenario)
    assert len(found) == 1
    assert found.pop().startswith("digest: ")

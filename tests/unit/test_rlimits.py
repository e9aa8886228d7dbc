"""The limit of open files, in a process of its own whose limits are set first."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import resource, sys
soft, hard = int(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
from podling.rlimits import inherited_open_files, open_files, raise_open_files
raise_open_files()
raise_open_files()
print(resource.getrlimit(resource.RLIMIT_NOFILE), open_files(), inherited_open_files())
"""


@pytest.mark.parametrize(
    ("soft", "hard", "said"),
    [
        (64, 512, "(512, 512) 512 (64, 512)"),
        (512, 512, "(512, 512) 512 None"),
    ],
)
def test_soft_limit_is_raised_to_the_hard_one(soft: int, hard: int, said: str) -> None:
    """The usual soft limit of shells would be used up by a thousand idle connections."""
    command = [sys.executable, "-c", SCRIPT, str(soft), str(hard)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == said

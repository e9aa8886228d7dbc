"""Sealed copies of the OCI runtime, which then makes no copy of itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from podling.runtime.oci.sealed import SealedProgram


def test_a_sealed_program_runs_and_cannot_be_changed() -> None:
    program = SealedProgram("/bin/sh")
    try:
        ran = subprocess.run(["sh", "-c", "exit 3"], executable=program.path, check=False)
        assert ran.returncode == 3
        descriptor = os.open(program.path, os.O_RDWR)
        with pytest.raises(PermissionError):
            os.write(descriptor, b"x")
        os.close(descriptor)
        assert program.path == program.path
    finally:
        program.close()


def test_a_program_that_cannot_be_copied_is_called_where_it_is(tmp_path: Path) -> None:
    path = str(tmp_path / "none")
    assert SealedProgram(path).path == path

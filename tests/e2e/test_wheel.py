"""The built wheel gives the same command as the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import podling

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("podling-*.whl")
    return built


def test_the_wheel_holds_everything(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"
    wanted = {
        path.relative_to(source).as_posix()
        for path in (source / "podling").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert wanted - names == set()


def test_the_installed_command_works(wheel: Path, tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--prefix", str(tmp_path), str(wheel)], check=True, capture_output=True)
    (command,) = tmp_path.glob("bin/podling")
    (packages,) = tmp_path.glob("lib/python*/site-packages")
    environment = os.environ | {"PYTHONPATH": str(packages)}
    done = subprocess.run(
        [str(command), "--version"], env=environment, capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout == f"podling, version {podling.__version__}\n"
    where = subprocess.run(
        [sys.executable, "-c", "import podling; print(podling.__file__)"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert where.stdout.startswith(str(packages))

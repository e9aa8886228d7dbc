"""Programs in other languages, built from or run with packages that the machine may have.

Nothing is fetched: a test is skipped, by name, where a compiler or a library is missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from msgspec import Struct

ROOT = Path(__file__).parents[2]
GO_EXAMPLES = ROOT / "examples" / "go"
VENDOR, NODE_MODULES = "PODLING_GO_MODULE", "PODLING_NODE_MODULES"
"""Variables that name a Go module with a ``vendor`` folder, and a ``node_modules`` folder."""
DEBIAN = Path("/usr/share/gocode")
"""The folder in which Debian's packages of Go libraries lie."""
BUILD_SECONDS = 900


class GoPlace(Struct, frozen=True):
    """A folder in which Go finds libraries, and the settings for it."""

    folder: Path
    settings: Mapping[str, str]


def places(copy: Path) -> Iterator[GoPlace]:
    """Yield the places where Go's libraries may be: ``copy`` is a folder for the examples' module."""
    if VENDOR in os.environ:
        yield GoPlace(Path(os.environ[VENDOR]), {"GOFLAGS": "-mod=vendor"})
    if DEBIAN.is_dir():
        yield GoPlace(DEBIAN, {"GO111MODULE": "off", "GOPATH": str(DEBIAN)})
    copy.mkdir()
    shutil.copy(GO_EXAMPLES / "go.mod", copy)
    yield GoPlace(copy, {"GOFLAGS": "-mod=mod"})


def build_go(name: str, folder: Path, *packages: str) -> Path:
    """Build an example and return the executable; skips the test where ``packages`` are missing."""
    compiler = shutil.which("go")
    if compiler is None:
        pytest.skip("needs a Go compiler: Debian's golang-go")
    sources = sorted((GO_EXAMPLES / name).glob("*.go"))
    target = folder / name
    kind = ["test", "-c"] if sources[0].name.endswith("_test.go") else ["build"]
    for place in places(folder / "module"):
        offline = {"GOPROXY": "off", "GOSUMDB": "off", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}
        environment = {**os.environ, **offline, **place.settings}
        found = subprocess.run(
            [compiler, "list", *packages], cwd=place.folder, env=environment, capture_output=True, check=False
        )
        if found.returncode == 0:
            command = [compiler, *kind, "-o", str(target), *map(str, sources)]
            done = subprocess.run(
                command,
                cwd=place.folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=BUILD_SECONDS,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            return target
    pytest.skip(
        f"needs {', '.join(packages)} in Go's module cache, {DEBIAN}, or the vendor folder of ${VENDOR}"
    )


def node_modules(package: str) -> Path:
    """Return a ``node_modules`` folder that has a package; skips the test where there is none."""
    if shutil.which("node") is None:
        pytest.skip("needs node")
    folders = [Path(os.environ[NODE_MODULES])] if NODE_MODULES in os.environ else []
    folders += sorted((ROOT / "build" / "foreign-suites" / "sources").glob("*/node_modules"))
    for folder in folders:
        if (folder / package).is_dir():
            return folder
    pytest.skip(f"needs {package} in a folder of scripts/foreign-suites, or in ${NODE_MODULES}")


def environment_with_podling(**more: str) -> dict[str, str]:
    """Return an environment in which ``podling`` is this Python's."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", **more}

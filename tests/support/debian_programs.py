"""Images of programs from Debian packages, for tests that run them inside pods.

``scripts/setup --dev`` unpacks the packages below ``.venv/debian``. An image is busybox, the program, and the
shared libraries that it loads on this machine.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.support.clusters import RealCluster
from tests.support.images import Tree, busybox_tree, configuration, docker_archive

PACKAGES = Path(__file__).parents[2] / ".venv" / "debian"
_LIBRARY = re.compile(r"(/\S+) \(0x[0-9a-f]+\)")


def load_program(
    cluster: RealCluster, folder: Path, tag: str, package: str, program: str, directories: Iterable[str] = ()
) -> None:
    """Load an image with a package's program as its entry point; skips the test where it is missing.

    Args:
        program: the program's path in the package and in the image, without the first slash.
        directories: directories that the program expects, likewise.
    """
    file = PACKAGES / package / program
    if not file.exists():
        pytest.skip(f"needs the Debian package {package}: scripts/setup --dev")
    libraries = list(_libraries(file))
    if missing := [library for library in libraries if not library.exists()]:
        pytest.skip(f"needs {missing[0]}, which {program} loads")
    tree = busybox_tree()
    known = {entry.name for entry, _ in tree.entries}
    wanted = [program, *(str(library)[1:] for library in libraries), *(f"{each}/x" for each in directories)]
    for name in sorted({str(parent) for each in wanted for parent in Path(each).parents} - known - {"."}):
        tree.directory(name)
    tree.add(program, file.read_bytes(), mode=0o755)
    for library in libraries:
        tree.add(str(library)[1:], library.read_bytes(), mode=0o755)
    _load(cluster, folder, tag, tree, program)


def _libraries(program: Path) -> Iterator[Path]:
    """Yield the shared libraries that a program loads, its loader included."""
    listed = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False).stdout
    for line in listed.splitlines():
        found = _LIBRARY.search(line)
        if "not found" in line:
            yield Path("/", line.split()[0])
        elif found:
            yield Path(found[1])


def _load(cluster: RealCluster, folder: Path, tag: str, tree: Tree, program: str) -> None:
    layer = tree.tar()
    archive = docker_archive(folder / "image.tar", tag, [layer], configuration([layer], cmd=(f"/{program}",)))
    done = cluster.podling("image load", str(archive))
    assert done.code == 0, done

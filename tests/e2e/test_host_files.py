"""The built-in image in a real container: the machine's programs, and no file that only root may read."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from podling import ids
from podling.runtime.images.host_image import HOST_IMAGE
from tests.support.oci_node import Node, missing, node

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.skipif(bool(missing()), reason=missing()),
]


@pytest.fixture
async def one(tmp_path: Path) -> AsyncIterator[Node]:
    async with node(tmp_path) as running:
        yield running


@pytest.fixture
def secret() -> Iterator[Path]:
    """A file below the machine's ``/usr`` that only root may read."""
    path = Path(f"/usr/local/share/podling-test-{ids.suffix(8)}")
    path.touch(0o600)
    path.write_text("secret of the machine")
    try:
        yield path
    finally:
        path.unlink()


@pytest.mark.parametrize("when", ["before the node starts", "after a container has started"])
async def test_root_of_a_container_reads_no_file_of_root_alone(one: Node, secret: Path, when: str) -> None:
    image = await one.runtime.images.image_status(HOST_IMAGE)
    assert image is not None
    sandbox = await one.pod()
    container = await one.run(sandbox, "sh", "-c", "sleep 3600", image=image.id)
    if when.startswith("after"):
        os.chmod(secret, 0o644)
        assert (await one.exec(container, "cat", str(secret))).out == "secret of the machine"
        os.chmod(secret, 0o600)
    said = await one.exec(container, "cat", str(secret))
    assert (said.code, said.out) == (1, "")
    assert "Permission denied" in said.err
    assert (await one.exec(container, "sh", "-c", "id -u; ls /usr/bin | head -n 1")).out.startswith("0\n")


@pytest.fixture
def program() -> Iterator[Path]:
    """A copy of ``id`` below the machine's ``/usr`` that belongs to root and is set-user-ID."""
    path = Path(f"/usr/local/bin/podling-test-{ids.suffix(8)}")
    try:
        path.write_bytes(Path("/usr/bin/id").read_bytes())
        path.chmod(0o4755)
        yield path
    finally:
        path.unlink()


async def test_programs_of_the_machine_do_not_change_the_user(one: Node, program: Path) -> None:
    image = await one.runtime.images.image_status(HOST_IMAGE)
    assert image is not None
    sandbox = await one.pod()
    container = await one.run(sandbox, "sh", "-c", "sleep 3600", image=image.id)
    command = f"setpriv --reuid 1000 --clear-groups {program} -u"
    assert (await one.exec(container, "sh", "-c", command)).out == "1000\n"


async def test_shared_directories_go_with_the_node(tmp_path: Path) -> None:
    async with node(tmp_path) as running:
        assert "bin" in os.listdir(running.state / "host-files/usr")
        state = running.state
    with pytest.raises(FileNotFoundError):
        os.listdir(state)
    assert "bin" in os.listdir("/usr")

"""A container that exchanges a directory and a link while others mount that directory as a ``subPath``."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from podling.runtime.base import Mount, RuntimeFailure, Sandbox, Security
from podling.runtime.images.host_image import HOST_IMAGE
from podling.runtime.platform import architecture
from tests.support import oci_node
from tests.support.oci_node import Node, said_in

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.slow,
    pytest.mark.skipif(bool(oci_node.missing()), reason=oci_node.missing() or "can run"),
    pytest.mark.skipif(not shutil.which("perl"), reason="needs perl to exchange names"),
]

RENAMEAT2 = {"amd64": 316, "arm64": 276}[architecture()]
SWAP = """
my ($directory, $link) = ("/v/d", "/v/l");
mkdir $directory; symlink "%s", $link; open(my $ready, ">", "/v/ready"); close $ready;
while (1) { syscall(%d, -100, $directory, -100, $link, 2) }
"""
LOOK = "if [ -e /m/node-secret ]; then echo ESCAPED; else echo inside; fi"
ROUNDS, AT_ONCE = 15, 4
RESTRICTED = Security(user="1000", group=1000, drop_capabilities=("ALL",), no_new_privileges=True)


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Node]:
    async with oci_node.node(tmp_path / "node") as one:
        image = await one.runtime.images.image_status(HOST_IMAGE)
        assert image is not None
        one.image = image.id
        yield one


async def look(here: Node, sandbox: Sandbox, mount: Mount) -> str:
    """Return the view of a container that mounts ``mount`` at /m; ``refused`` if it cannot be made."""
    try:
        container = await here.run(sandbox, "sh", "-c", LOOK, mounts=(mount,), security=RESTRICTED)
    except RuntimeFailure:
        return "refused"
    return said_in(await here.ended(container))


async def test_swapped_sub_path_never_shows_the_node(here: Node, tmp_path: Path) -> None:
    outside, volume = tmp_path / "outside", tmp_path / "volume"
    for directory in (outside, volume):
        directory.mkdir()
        directory.chmod(0o777)
    (outside / "node-secret").write_text("x")
    sandbox = await here.pod()
    swapping = Mount(container_path="/v", host_path=str(volume))
    script = SWAP % (outside, RENAMEAT2)
    swapper = await here.run(
        sandbox, "perl", "-e", script, name="swapper", mounts=(swapping,), security=RESTRICTED
    )
    await here.exec(swapper, "sh", "-c", "until [ -e /v/ready ]; do :; done")

    seen: dict[str, Counter[str]] = {"by path": Counter(), "by subPath": Counter()}
    for _ in range(ROUNDS):
        by_path = Mount(container_path="/m", host_path=str(volume / "d"))
        by_part = Mount(container_path="/m", host_path=str(volume), sub_path="d")
        tried = [("by path", by_path), *[("by subPath", by_part)] * (AT_ONCE - 1)]
        said = await asyncio.gather(*(look(here, sandbox, mount) for _, mount in tried))
        for (how, _), text in zip(tried, said, strict=True):
            seen[how][text] += 1
    assert seen["by path"]["ESCAPED"], f"the race was not won by the unsafe way either: {seen}"
    assert not seen["by subPath"]["ESCAPED"], seen
    assert seen["by subPath"]["inside"], seen

    assert [path for path in here.traces() if "/sub-paths" in path] == []
    await here.runtime.remove_sandbox(sandbox.id)
    assert here.traces() == []


async def test_files_and_directories_are_mounted_in_part(here: Node, tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    (volume / "logs" / "web").mkdir(parents=True)
    (volume / "logs" / "web" / "line").write_text("hello\n")
    (volume / "current").symlink_to("logs/web")
    sandbox = await here.pod()
    mounts = (
        Mount(container_path="/file", host_path=str(volume), sub_path="logs/web/line"),
        Mount(container_path="/logs", host_path=str(volume), sub_path="current"),
        Mount(container_path="/fixed", host_path=str(volume), sub_path="logs", read_only=True),
    )
    script = "exec 2>&1; cat /file /logs/line /fixed/web/line; echo x > /logs/new; echo x > /fixed/new"
    _, said = await here.finish(sandbox, "sh", "-c", script, mounts=mounts)
    assert said.splitlines()[:3] == ["hello"] * 3
    assert "Read-only file system" in said
    assert (volume / "logs" / "web" / "new").exists()
    assert not (volume / "logs" / "new").exists()
    for part in ("..", "absent", "logs/web/line/x"):
        wrong = Mount(container_path="/m", host_path=str(volume), sub_path=part)
        with pytest.raises(RuntimeFailure, match='failed to prepare subPath for volumeMount at "/m"'):
            await here.create(sandbox, name="wrong", mounts=(wrong,))
    await here.runtime.remove_sandbox(sandbox.id)
    assert here.traces() == []
    assert (volume / "logs" / "web" / "line").read_text() == "hello\n", "removing follows no mount"


async def test_sub_path_of_a_created_container_outlives_a_restart(tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    (volume / "part").mkdir(parents=True)
    async with oci_node.node(tmp_path / "node") as before:
        sandbox = await before.pod()
        mount = Mount(container_path="/m", host_path=str(volume), sub_path="part")
        created = await before.create(sandbox, "sh", "-c", "echo kept > /m/file", mounts=(mount,))
        removed = await before.create(sandbox, name="other", mounts=(mount,))
        await before.runtime.close()
        after = before.again()
        await after.runtime.start()
        await after.runtime.start_container(created)
        await after.ended(created)
        assert (volume / "part" / "file").read_text() == "kept\n"
        assert len([path for path in after.traces() if "/sub-paths/" in path]) == 1, "the one never started"
        await after.runtime.remove_container(removed)
        assert [path for path in after.traces() if "/sub-paths" in path] == []
        await after.runtime.remove_sandbox(sandbox.id)
        assert after.traces() == []
        await after.runtime.close()

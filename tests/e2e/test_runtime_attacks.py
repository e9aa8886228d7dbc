"""Images and containers that try to escape, by the known vulnerabilities of other runtimes."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from podling.runtime.base import ContainerState, Mount, RuntimeFailure, Sandbox, Security
from podling.runtime.oci import detect
from tests.support import oci_node
from tests.support.images import Tree, busybox_tree, configuration, docker_archive
from tests.support.oci_node import Node, said_in

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.skipif(bool(oci_node.missing()), reason=oci_node.missing() or "can run"),
]

DESCRIPTORS = range(3, 20)
EXECS = 29
LOOK = "exec 2>&1; pwd; for up in . .. ../.. ../../.. ../../../.. ../../../../..; do ls $up; done"


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Node]:
    async with oci_node.node(tmp_path / "node") as one:
        yield one


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A world-writable directory of the node that containers must not reach."""
    directory = tmp_path / "outside"
    directory.mkdir()
    (directory / "node-secret").write_text("x")
    directory.chmod(0o777)
    return directory


async def image_of(here: Node, tmp_path: Path, name: str, tree: Tree, **options: str) -> str:
    layer = tree.tar()
    config = configuration([layer], **options)  # type: ignore[arg-type]
    archive = docker_archive(tmp_path / f"{name}.tar", f"{name}:1", [layer], config)
    (image,) = await here.runtime.images.load(archive)
    return image.id


async def said(here: Node, sandbox: Sandbox, *command: str, **wish: object) -> str:
    """Run a container and return its output; empty if it cannot be made or started."""
    try:
        container = await here.run(sandbox, *command, **wish)
    except RuntimeFailure:
        return ""
    return said_in(await here.ended(container))


async def can_run(here: Node, sandbox: Sandbox, **wish: object) -> bool:
    """Return whether a harmless container runs beside what may have been refused."""
    return await said(here, sandbox, "echo", "runs", name="control", **wish) == "runs"


@pytest.mark.parametrize("told", ["by the image", "by the pod"])
async def test_working_directory_is_no_descriptor_of_the_runtime(
    here: Node, tmp_path: Path, told: str
) -> None:
    """CVE-2024-21626: a descriptor that leaked into the runtime led to the node's files."""
    sandbox = await here.pod()
    node = set(os.listdir("/")) - {"bin", "dev", "etc", "home", "proc", "root", "sys", "tmp"}
    assert node
    for number in DESCRIPTORS:
        directory = f"/proc/self/fd/{number}"
        if told == "by the image":
            image = await image_of(here, tmp_path, f"cwd-{number}", busybox_tree(), WorkingDir=directory)
            text = await said(here, sandbox, "sh", "-c", LOOK, name=f"c{number}", image=image)
        else:
            text = await said(here, sandbox, "sh", "-c", LOOK, name=f"c{number}", working_dir=directory)
        assert not node & set(text.split()), (number, text)
    text = await said(here, sandbox, "sh", "-c", LOOK, name="control", working_dir="/")
    assert {"bin", "proc"} <= set(text.split()), "the same script shows what it sees"


async def test_exec_follows_no_working_directory_out_of_the_container(here: Node) -> None:
    sandbox = await here.pod()
    script = (
        "mkdir -p /w && rmdir /w; n=3; "
        "while :; do rm -f /w; ln -s /proc/self/fd/$n /w; n=$((n + 1)); [ $n -gt 19 ] && n=3; done"
    )
    container = await here.run(sandbox, "sh", "-c", script, working_dir="/w")
    node = set(os.listdir("/")) - {"bin", "dev", "etc", "home", "proc", "root", "sys", "tmp"}
    for _ in range(EXECS):
        try:
            text = (await here.exec(container, "sh", "-c", LOOK)).out
        except RuntimeFailure:
            continue
        assert not node & set(text.split()), text
    (status,) = await here.runtime.list_containers()
    assert status.state is ContainerState.RUNNING


async def test_the_runtimes_program_cannot_be_overwritten(here: Node) -> None:
    """CVE-2019-5736: what is executed in a container is the runtime itself, whose file root may write."""
    engine = detect.choose(detect.gather()).engine
    assert engine is not None
    before = await asyncio.to_thread(lambda: hashlib.sha256(Path(engine.path).read_bytes()).hexdigest())
    sandbox = await here.pod()
    script = (
        "printf '#!/proc/self/exe\\n' > /evil; chmod 755 /evil; "
        "while :; do for exe in /proc/[0-9]*/exe; do echo overwritten 2>/dev/null > $exe; done; done"
    )
    container = await here.run(sandbox, "sh", "-c", f"exec 2>/dev/null; {script}")
    await here.exec(container, "sh", "-c", "until [ -x /evil ]; do :; done")
    for _ in range(EXECS):
        try:
            await here.exec(container, "/evil")
        except RuntimeFailure:
            continue
    after = await asyncio.to_thread(lambda: hashlib.sha256(Path(engine.path).read_bytes()).hexdigest())
    assert after == before
    assert (await here.exec(container, "echo", "works")).out == "works\n"


@pytest.mark.parametrize("path", ["/proc", "/proc/sys", "/", "way", "/../../proc"])
async def test_volumes_of_an_image_cover_no_system_directory(here: Node, tmp_path: Path, path: str) -> None:
    """CVE-2019-16884: a volume over ``/proc`` hid from the runtime what it was to confine."""
    tree = busybox_tree().directory("proc/sys/fake").link("way", "proc")
    layer = tree.tar()
    config = configuration([layer], Volumes={path: {}})
    archive = docker_archive(tmp_path / "v.tar", "v:1", [layer], config)
    (image,) = await here.runtime.images.load(archive)
    sandbox = await here.pod()
    script = "exec 2>&1; ls /proc/sys; touch /proc/sys/written && echo covered; true"
    security = Security(read_only_rootfs=True)
    text = await said(here, sandbox, "sh", "-c", script, image=image.id, security=security)
    assert "covered" not in text
    assert "fake" not in text
    assert await can_run(here, sandbox, security=security)


@pytest.mark.parametrize("target", ["/proc", "/proc/sys", "../proc", "/proc/self/attr"])
async def test_links_in_a_volume_lead_no_mount_over_proc(here: Node, tmp_path: Path, target: str) -> None:
    """CVE-2019-19921: a second volume is mounted at a link that the first one holds."""
    first, second = tmp_path / "first", tmp_path / "second"
    (second / "fake").mkdir(parents=True)
    first.mkdir()
    (first / "way").symlink_to(target)
    mounts = (
        Mount(container_path="/v", host_path=str(first)),
        Mount(container_path="/v/way", host_path=str(second)),
    )
    script = "exec 2>&1; ls -d /proc/fake /proc/sys/fake; [ -e /proc/self/status ] && echo works"
    sandbox = await here.pod()
    text = await said(here, sandbox, "sh", "-c", script, mounts=mounts)
    lines = text.splitlines()
    assert not {"/proc/fake", "/proc/sys/fake"} & set(lines)
    assert lines == [] or lines[-1] == "works"
    assert await can_run(here, sandbox, mounts=mounts[:1])


@pytest.mark.parametrize("name", ["proc", "dev", "sys"])
@pytest.mark.parametrize("how", ["absolute", "relative"])
async def test_system_directories_that_are_links_lead_nowhere(
    here: Node, tmp_path: Path, outside: Path, name: str, how: str
) -> None:
    target = str(outside) if how == "absolute" else "../" * 12 + str(outside).lstrip("/")
    image = await image_of(here, tmp_path, f"{name}-{how}", busybox_tree().link(name, target))
    sandbox = await here.pod()
    script = f"exec 2>&1; ls /{name}; touch /{name}/written"
    text = await said(here, sandbox, "sh", "-c", script, image=image)
    assert "node-secret" not in text
    assert os.listdir(outside) == ["node-secret"]
    mounts = await asyncio.to_thread(Path("/proc/self/mountinfo").read_text)
    assert str(outside) not in mounts
    assert await can_run(here, sandbox)


@pytest.mark.parametrize("path", ["etc", "etc/passwd", "etc/group", "etc/hostname", "w", "data", "etc/hosts"])
async def test_links_of_an_image_are_followed_inside_of_it(
    here: Node, tmp_path: Path, outside: Path, path: str
) -> None:
    """The runtime reads, creates and mounts only inside of the root file system."""
    tree = Tree()
    for info, content in busybox_tree().entries:
        if info.name != path and not (path == "etc" and info.name.startswith("etc/")):
            tree.entries.append((info, content))
    lowest = outside / "node-secret" if path.count("/") else outside
    tree.link(path, str(lowest))
    image = await image_of(here, tmp_path, path.replace("/", "-"), tree)
    sandbox = await here.pod(hostname="web")
    text = await said(
        here,
        sandbox,
        "sh",
        "-c",
        "exec 2>&1; id; cat /etc/hostname; ls; ls /data; touch /w/written /data/written /etc/written",
        image=image,
        working_dir="/w",
    )
    assert "node-secret" not in text
    assert os.listdir(outside) == ["node-secret"]
    assert (outside / "node-secret").read_text() == "x"
    assert await can_run(here, sandbox, working_dir="/w")

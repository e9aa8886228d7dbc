"""Real containers: privileges, shared namespaces, failing starts, and mounts."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from podling.runtime.base import (
    ContainerState,
    Mount,
    MountPropagation,
    NamespaceOptions,
    RuntimeFailure,
    Security,
)
from podling.runtime.oci import detect, linux
from podling.runtime.oci.host import birth
from podling.runtime.oci.rootfs import unmount_everything_under
from tests.support.images import Tree, busybox_tree, configuration, docker_archive
from tests.support.oci_node import Node, missing, node
from tests.support.pod_processes import kill_process_namespace

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.skipif(bool(missing()), reason=missing())]

MS_SHARED = 0x100000
DEFAULT = Security(seccomp="runtime/default")


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Node]:
    async with node(tmp_path) as running:
        yield running


# Privileges and namespaces


async def test_a_plain_container_is_confined(here: Node) -> None:
    script = "grep -E '^(CapEff|Seccomp):' /proc/self/status; mount -t tmpfs x /tmp; unshare -n true; id -u"
    _, said = await here.finish(await here.pod(), "sh", "-c", script, security=DEFAULT)
    lines = said.splitlines()
    assert lines[0].split() == ["CapEff:", "00000000a80425fb"]
    assert lines[1].split() == ["Seccomp:", "2"]
    assert "mount: permission denied" in said
    assert "Operation not permitted" in said
    assert "0" in lines


async def test_a_privileged_container_is_not(here: Node) -> None:
    script = "mount -t tmpfs x /tmp && echo mounted; test -c /dev/kmsg && echo devices"
    _, said = await here.finish(await here.pod(), "sh", "-c", script, security=Security(privileged=True))
    assert said.splitlines() == ["mounted", "devices"]


async def test_users_come_from_the_images_own_files(here: Node) -> None:
    sandbox = await here.pod()
    container, said = await here.finish(sandbox, "id", security=Security(user="www"))
    assert said == "uid=33(www) gid=33(www) groups=33(www),50(staff)"
    assert container.user == (33, 33, (33, 50))
    with pytest.raises(RuntimeFailure, match="unable to find user nobody-knows"):
        await here.create(sandbox, security=Security(user="nobody-knows"))


async def test_a_read_only_root_keeps_the_images_volumes_writable(here: Node, tmp_path: Path) -> None:
    layer = busybox_tree().directory("data", 0o755, uid=33).add("data/seed", b"planted\n").tar()
    config = configuration([layer], Volumes={"/data": {}})
    (image,) = await here.runtime.images.load(docker_archive(tmp_path / "v.tar", "volumes", [layer], config))
    script = "exec 2>&1; touch /x; cat /data/seed; echo more > /data/more && echo written; stat -c %u /data"
    _, said = await here.finish(
        await here.pod(), "sh", "-c", script, image=image.id, security=Security(read_only_rootfs=True)
    )
    assert said.splitlines() == ["touch: /x: Read-only file system", "planted", "written", "33"]


async def test_an_images_volume_is_copied_without_reading_its_devices(here: Node, tmp_path: Path) -> None:
    """A device of the image would expose the node's disk or never end; a FIFO would block."""
    tree = busybox_tree().directory("data").directory("data/own", 0o750, uid=33, gid=34)
    tree.add("data/zero", kind=tarfile.CHRTYPE, devmajor=1, devminor=3, mode=0o666)
    tree.add("data/fifo", kind=tarfile.FIFOTYPE).link("data/link", "/etc/shadow")
    layer = tree.tar()
    config = configuration([layer], Volumes={"/data": {}})
    (image,) = await here.runtime.images.load(docker_archive(tmp_path / "v.tar", "volumes", [layer], config))
    script = "cd /data; stat -c '%n %F %u %g %a' zero fifo link own; cat zero"
    command = ("sh", "-c", f"exec 2>&1; {script}")
    _, said = await here.finish(
        await here.pod(), *command, image=image.id, security=Security(read_only_rootfs=True)
    )
    assert said.splitlines() == [
        "zero character special file 0 0 666",
        "fifo fifo 0 0 644",
        "link symbolic link 0 0 777",
        "own directory 33 34 750",
    ]


async def test_the_hostname_file_is_not_among_the_nodes_state(here: Node) -> None:
    """A container may fill the file, and the node's state lies in memory."""
    sandbox = await here.pod(hostname="web-0")
    container = await here.run(sandbox, "sh", "-c", "echo other >> /etc/hostname; sleep 3600", name="one")
    said = await here.exec(container, "sh", "-c", "until grep -c other /etc/hostname; do :; done")
    assert said.out == "1\n"
    holding = await asyncio.to_thread(lambda: list((here.state / "sandboxes").rglob("hostname")))
    assert holding == []
    _, text = await here.finish(sandbox, "cat", "/etc/hostname", name="two")
    assert text.splitlines() == ["web-0", "other"]


async def test_the_hostname_is_the_pods(here: Node) -> None:
    sandbox = await here.pod(hostname="web-0")
    _, said = await here.finish(sandbox, "sh", "-c", "hostname; cat /etc/hostname; echo $HOSTNAME")
    assert said.splitlines() == ["web-0"] * 3


async def test_containers_of_a_pod_share_memory_but_not_files(here: Node) -> None:
    sandbox = await here.pod()
    await here.run(sandbox, "sh", "-c", "echo shared > /dev/shm/x; echo own > /x; sleep 3600", name="one")
    script = "until cat /dev/shm/x 2>/dev/null; do :; done; ls /x 2>&1"
    _, said = await here.finish(sandbox, "sh", "-c", script, name="two")
    assert said.splitlines() == ["shared", "ls: /x: No such file or directory"]


async def test_a_shared_process_namespace_has_a_holder_that_reaps(here: Node) -> None:
    sandbox = await here.pod(namespaces=NamespaceOptions(share_processes=True))
    one = await here.run(sandbox, name="one")
    script = (
        "(sleep 0.01 & echo $! > /orphan) ; cat /orphan; while kill -0 $(cat /orphan) 2>/dev/null; do :; done"
    )
    two = await here.run(sandbox, "sh", "-c", f"{script}; ps; sleep 3600", name="two")
    seen = await here.exec(two, "ps")
    assert "/pause" in seen.out
    assert "sleep 3600 & wait" in seen.out, "the other container's processes are seen"
    await here.runtime.stop_container(one, grace_seconds=0)
    assert (await here.exec(two, "true")).code == 0
    await here.runtime.remove_sandbox(sandbox.id)
    assert here.traces() == []


async def test_containers_of_an_ended_shared_namespace_have_no_sandbox(here: Node) -> None:
    """The kernel ends the others while the holder still exits: a moment in which all must look ended."""
    for _ in range(8):
        sandbox = await here.pod(namespaces=NamespaceOptions(share_processes=True))
        names = ("one", "two", "three")
        made = [await here.run(sandbox, name=name) for name in names]
        pids = [(await here.runtime.container_status(each)).pid or 0 for each in made]
        uid = next(held.pod_uid for held in await here.runtime.list_sandboxes() if held.id == sandbox.id)
        kill_process_namespace(uid)
        while all(birth(pid) for pid in pids):
            pass  # the moment is shorter than any wait
        assert [held.ready for held in await here.runtime.list_sandboxes()] == [False]
        await here.runtime.remove_sandbox(sandbox.id)


async def test_the_nodes_process_namespace_can_be_shared(here: Node) -> None:
    sandbox = await here.pod(namespaces=NamespaceOptions(host_pid=True))
    _, said = await here.finish(sandbox, "sh", "-c", f"test -d /proc/{os.getpid()} && echo seen")
    assert said == "seen"


async def test_an_ephemeral_container_joins_its_targets_processes(here: Node) -> None:
    sandbox = await here.pod()
    target = await here.run(sandbox)
    _, said = await here.finish(sandbox, "ps", name="debug", process_target=target)
    assert "sleep 3600 & wait" in said


async def test_sysctls_are_the_pods_own(here: Node) -> None:
    read = ("cat", "/proc/sys/net/ipv4/ip_unprivileged_port_start")
    _, changed = await here.finish(
        await here.pod(sysctls={"net.ipv4.ip_unprivileged_port_start": "7"}), *read
    )
    _, usual = await here.finish(await here.pod(), *read)
    assert (changed, usual) == ("7", "1024")


async def test_a_sandbox_that_cannot_be_made_leaves_nothing(here: Node) -> None:
    with pytest.raises(RuntimeFailure, match=r'cannot set sysctl "net\.no\.such"'):
        await here.pod(sysctls={"net.no.such": "1"})
    assert await here.runtime.list_sandboxes() == ()
    assert here.traces() == []


async def test_the_machine_as_an_image_shows_its_programs_and_nothing_else(here: Node) -> None:
    image = await here.runtime.images.pull("podling.local/host")
    script = "ls -A /root /home; cat /etc/shadow; touch /usr/x; touch /etc/mine && echo own; sort --version"
    _, said = await here.finish(await here.pod(), "sh", "-c", script, image=image.id)
    assert "No such file or directory" in said
    assert "Read-only file system" in said
    assert "own" in said.splitlines()
    assert "sort" in said


# Starts that fail


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("badcommand", 'exec: "badcommand": executable file not found in $PATH'),
        ("/bad/command", 'exec: "/bad/command": stat /bad/command: no such file or directory'),
        ("/etc/passwd", 'exec: "/etc/passwd": permission denied'),
    ],
)
async def test_a_command_that_cannot_run(here: Node, command: str, message: str) -> None:
    container = await here.create(await here.pod(), command)
    with pytest.raises(RuntimeFailure) as caught:
        await here.runtime.start_container(container)
    assert str(caught.value) == message
    status = await here.runtime.container_status(container)
    assert (status.state, status.exit_code) == (ContainerState.EXITED, 128)
    assert (status.reason, status.message) == ("StartError", message)


async def test_an_image_of_another_machine_is_named_as_such(here: Node, tmp_path: Path) -> None:
    layer = busybox_tree().tar()
    config = configuration([layer], architecture="s390x")
    (image,) = await here.runtime.images.load(docker_archive(tmp_path / "s.tar", "other", [layer], config))
    with pytest.raises(RuntimeFailure, match="image is built for linux/s390x, this node is linux/"):
        await here.create(await here.pod(), image=image.id)
    (sandbox,) = await here.runtime.list_sandboxes()
    await here.runtime.remove_sandbox(sandbox.id)
    assert here.traces() == []


# Mounts, and the other engine


async def test_a_read_only_mount_cannot_be_written(here: Node, tmp_path: Path) -> None:
    (tmp_path / "volume").mkdir()
    mount = Mount(container_path="/data", host_path=str(tmp_path / "volume"), read_only=True)
    _, said = await here.finish(await here.pod(), "sh", "-c", "touch /data/x", mounts=(mount,))
    assert said == "touch: /data/x: Read-only file system"


async def test_mounts_propagate_as_specified(here: Node, tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    for name in ("from-node", "from-container"):
        (volume / name).mkdir(parents=True)
    mount = Mount(container_path="/data", host_path=str(volume), propagation=MountPropagation.BIDIRECTIONAL)
    sandbox = await here.pod()
    linux.mount(str(volume), volume, flags=linux.MS_BIND)
    try:
        linux.mount("none", volume, flags=linux.MS_PRIVATE)
        with pytest.raises(RuntimeFailure, match="is not a shared mount"):
            await here.create(sandbox, mounts=(mount,))
        linux.mount("none", volume, flags=MS_SHARED)
        container = await here.run(sandbox, mounts=(mount,), security=Security(privileged=True))
        linux.mount("late", volume / "from-node", "tmpfs")
        (volume / "from-node" / "file").touch()
        assert (await here.exec(container, "ls", "/data/from-node")).out == "file\n"
        script = "mount -t tmpfs x /data/from-container && touch /data/from-container/file"
        assert (await here.exec(container, "sh", "-c", script)).code == 0
        assert os.listdir(volume / "from-container") == ["file"]
        await here.runtime.remove_sandbox(sandbox.id)
    finally:
        unmount_everything_under(volume)
        linux.unmount(volume)


async def test_an_image_can_be_a_volume(here: Node, tmp_path: Path) -> None:
    base = Tree().directory("docs").add("docs/page", b"old\n").add("other", b"x").tar()
    top = Tree().directory("docs").add("docs/page", b"new\n").link("docs/way", "/etc/passwd").tar()
    config = configuration([base, top])
    archive = docker_archive(tmp_path / "d.tar", "data", [base, top], config)
    (data,) = await here.runtime.images.load(archive)
    sandbox = await here.pod()
    whole = Mount(container_path="/all", image=data.id)
    part = Mount(container_path="/part", image=data.id, sub_path="docs")
    script = "exec 2>&1; cat /all/docs/page /part/page; ls /all; touch /part/x"
    _, said = await here.finish(sandbox, "sh", "-c", script, mounts=(whole, part))
    assert said.splitlines() == [
        "new",
        "new",
        "docs",
        "other",
        "touch: /part/x: Read-only file system",
    ]
    for path in ("nowhere", "docs/way"):
        wrong = Mount(container_path="/p", image=data.id, sub_path=path)
        with pytest.raises(RuntimeFailure, match="does not exist in the image"):
            await here.create(sandbox, name="wrong", mounts=(wrong,))
    await here.runtime.images.remove_image("data")
    await here.runtime.remove_sandbox(sandbox.id)
    assert here.traces() == []
    assert len(await here.runtime.images.list_images()) == 2, "busybox and the machine itself"


@pytest.mark.skipif(shutil.which("runc") is None, reason="needs runc")
async def test_runc_runs_a_container(tmp_path: Path) -> None:
    facts = detect.gather()
    choice = detect.choose(replace(facts, crun=""))
    async with node(tmp_path, choice) as here:
        sandbox = await here.pod()
        container = await here.run(sandbox, security=DEFAULT)
        said = await here.exec(container, "sh", "-c", "grep ^Seccomp: /proc/self/status; exit 3")
        assert (said.code, said.out.split()) == (3, ["Seccomp:", "2"])
        missing_command = await here.create(sandbox, "badcommand", name="bad")
        with pytest.raises(RuntimeFailure, match=r'exec: "badcommand": executable file not found in \$PATH'):
            await here.runtime.start_container(missing_command)
        await here.runtime.stop_container(container, grace_seconds=10)
        assert (await here.ended(container)).exit_code == 0
        await here.runtime.remove_sandbox(sandbox.id)
        assert here.traces() == []


def test_chosen_runtime_program_reports_its_name() -> None:
    choice = detect.choose(detect.gather())
    assert choice.engine is not None
    version = subprocess.run([choice.engine.path, "--version"], capture_output=True, text=True, check=True)
    assert choice.engine.name in version.stdout

"""Real containers of pods with users of their own (``hostUsers: false``), with both OCI runtimes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import stat
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from podling.kubelet.containers.security import DEFAULT_MASKED_PATHS, DEFAULT_READONLY_PATHS
from podling.runtime.base import (
    IdRange,
    Mount,
    MountPropagation,
    NamespaceOptions,
    RuntimeFailure,
    Sandbox,
    Security,
)
from podling.runtime.oci import detect, linux, stdio
from podling.runtime.oci.mounting.id_maps import lack
from tests.support.images import Tree, busybox_tree, configuration, docker_archive
from tests.support.oci_node import Node, missing, node

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.skipif(bool(missing()), reason=missing())]

USERS = IdRange(first=3 * 65536)
ROOT = USERS.first


def choice_of(engine: str) -> detect.Choice:
    facts = detect.gather()
    return detect.choose(facts if engine == "crun" else replace(facts, crun=""))


@pytest.fixture(params=["crun", "runc"])
async def here(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Node]:
    if shutil.which(request.param) is None:
        pytest.skip(f"needs {request.param}")
    async with node(tmp_path / "node", choice_of(request.param)) as running:
        yield running


async def pod(here: Node, users: IdRange = USERS, **options: bool) -> Sandbox:
    return await here.pod(namespaces=NamespaceOptions(users=users, **options))


async def shell(here: Node, container: str, script: str) -> str:
    said = await here.exec(container, "sh", "-c", script)
    assert said.code == 0, said.err
    return said.out


def outer_ids(pid: int) -> tuple[int, int]:
    """Return the user and the group of a process as the node's ``ps`` shows them."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = {line.split()[0]: int(line.split()[1]) for line in status.splitlines() if line[1:4] == "id:"}
    return found["Uid:"], found["Gid:"]


async def test_root_inside_is_another_user_outside(here: Node) -> None:
    sandbox = await pod(here)
    container = await here.run(sandbox)
    pid = (await here.runtime.container_status(container)).pid
    assert pid is not None
    assert outer_ids(pid) == (ROOT, ROOT)
    assert (await shell(here, container, "id -u; id -g; cat /proc/self/uid_map")).split() == [
        *("0", "0"),
        *("0", str(ROOT), "65536"),
    ]
    own = await here.run(sandbox, name="own", security=Security(user="1000", group=2000))
    pid = (await here.runtime.container_status(own)).pid
    assert pid is not None
    assert outer_ids(pid) == (ROOT + 1000, ROOT + 2000)
    assert await shell(here, own, "id -u; id -g") == "1000\n2000\n"


async def test_files_of_the_root_file_system_belong_to_the_pods_users(here: Node) -> None:
    container = await here.run(await pod(here))
    made = "touch /made; touch /given; chown 1000:2000 /given; stat -c '%u %g' / /etc/passwd /made /given"
    assert (await shell(here, container, made)).splitlines() == ["0 0", "0 0", "0 0", "1000 2000"]
    upper = here.root / "oci" / "containers" / container / "upper"
    assert [(upper / name).stat().st_uid for name in ("made", "given")] == [ROOT, ROOT + 1000]


async def test_capabilities_hold_inside_only(here: Node) -> None:
    """The kernel refuses the node, with any capability added; without own users the same calls succeed."""
    security = Security(add_capabilities=("CAP_SYS_ADMIN", "CAP_SYS_MODULE", "CAP_SYS_TIME", "CAP_MKNOD"))
    container = await here.run(await pod(here), security=security)
    plain = await here.run(await here.pod(), security=security)
    assert "mounted" in await shell(here, container, "mkdir /m && mount -t tmpfs t /m && echo mounted")
    for attempt in ("mknod /disk b 254 0", "mkdir /p && mount -t debugfs d /p"):
        await shell(here, plain, attempt)
        await refused(here, container, attempt)
    await shell(here, plain, "test -w /proc/sys/kernel/core_pattern")
    await refused(here, container, "echo x > /proc/sys/kernel/core_pattern")


async def refused(here: Node, container: str, script: str) -> None:
    """Assert that the kernel refuses the script for want of rights, or of an ID inside."""
    said = await here.exec(container, "sh", "-c", script)
    assert said.code != 0, script
    texts = "operation not permitted|permission denied|value too large"
    assert re.search(texts, said.err, re.IGNORECASE), said.err


async def test_no_capability_loads_a_kernel_module(here: Node) -> None:
    """A permitted caller of init_module(2) gets as far as the bad address (14), others do not (1).

    A kernel without modules knows no such call (38).
    """
    image = await here.runtime.images.pull("podling.local/host")
    security = Security(add_capabilities=("CAP_SYS_MODULE",))
    script = "syscall(175, 0, 0, 0); print $!+0"
    _, said = await here.finish(await pod(here), "perl", "-e", script, image=image.id, security=security)
    assert said in ("1", "38")


async def test_volumes_show_their_files_with_the_pods_users(here: Node, tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    volume.mkdir(mode=0o777)
    volume.chmod(0o777)
    for name, owner in (("root", 0), ("user", 1000), ("other", 70000)):
        (volume / name).write_text(name)
        (volume / name).chmod(0o600)
        os.chown(volume / name, owner, owner)
    mounts = (
        Mount(container_path="/v", host_path=str(volume)),
        Mount(container_path="/read-only", host_path=str(volume), read_only=True),
        Mount(container_path="/part", host_path=str(volume), sub_path="user"),
    )
    container = await here.run(await pod(here), mounts=mounts)
    seen = await shell(here, container, "stat -c '%u %g' /v/root /v/user /v/other /part")
    assert seen.splitlines() == ["0 0", "1000 1000", "65534 65534", "1000 1000"]
    await shell(here, container, "echo more >> /part; touch /v/made; chown 5:6 /v/made; cat /v/root")
    made = (volume / "made").stat()
    assert (made.st_uid, made.st_gid) == (5, 6)
    assert (volume / "user").read_text() == "usermore\n"
    for attempt in ("cat /v/other", "echo x >> /v/other", "chown 0 /v/other"):
        await refused(here, container, attempt)
    said = await here.exec(container, "touch", "/read-only/x")
    assert "Read-only file system" in said.err


async def test_not_even_the_overflow_user_changes_files_of_others(here: Node, tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    (volume / "other").write_text("kept")
    (volume / "other").chmod(0o600)
    os.chown(volume / "other", 70000, 70000)
    mounts = (Mount(container_path="/v", host_path=str(volume)),)
    container = await here.run(await pod(here), mounts=mounts, security=Security(user="65534", group=65534))
    own = await shell(here, container, "id -u; id -g; stat -c '%u %g' /v/other")
    assert own.split() == ["65534"] * 4
    for attempt in ("cat /v/other", "echo x >> /v/other", "chmod 666 /v/other"):
        await refused(here, container, attempt)
    assert (volume / "other").read_text() == "kept"


async def test_memory_file_systems_are_mapped(here: Node, tmp_path: Path) -> None:
    place = tmp_path / "memory"
    place.mkdir()
    linux.mount("tmpfs", place, "tmpfs", 0, "size=64k")
    try:
        (place / "secret").write_text("found")
        (place / "secret").chmod(0o400)
        mounts = (Mount(container_path="/m", host_path=str(place), read_only=True),)
        sandbox = await pod(here)
        container = await here.run(sandbox, mounts=mounts)
        assert await shell(here, container, "cat /m/secret; stat -c %u /m/secret") == "found0\n"
        assert await shell(here, container, "touch /dev/shm/x; stat -c %u /dev/shm /dev/shm/x") == "0\n0\n"
        await here.runtime.stop_container(container, grace_seconds=0)
        await here.runtime.remove_sandbox(sandbox.id)
    finally:
        linux.unmount(place)
    assert here.traces() == []


async def test_files_that_the_node_makes_for_the_pod_are_its_roots(here: Node) -> None:
    container = await here.run(await pod(here))
    seen = await shell(here, container, "stat -c '%u %a' /etc/hostname; echo x > /etc/hostname; hostname")
    assert seen.splitlines() == ["0 644", "pod"]


async def test_streams_may_be_opened_again(here: Node) -> None:
    sandbox = await pod(here)
    for number, user in enumerate(("0", "1000")):
        security = Security(user=user, group=0)
        script = "echo out > /dev/stdout; echo err > /proc/self/fd/2"
        _, said = await here.finish(sandbox, "sh", "-c", script, name=f"log-{number}", security=security)
        assert sorted(said.split()) == ["err", "out"]
    container = await here.run(sandbox, name="main")
    answer = await here.exec(container, "sh", "-c", "echo out > /dev/stdout; echo err > /dev/stderr")
    assert (answer.code, answer.out, answer.err) == (0, "out\n", "err\n")


@pytest.mark.parametrize("security", [Security(), Security(user="1000", group=2000)])
async def test_no_start_touches_the_null_device_of_the_node(here: Node, security: Security) -> None:
    """A process without input has an ended pipe.

    crun gave the device to the process' user for some milliseconds, and for good if the start failed.
    """
    sandbox = await pod(here, share_processes=True)
    script = "readlink /proc/self/fd/0; cat; sleep 0; echo ended; echo >/dev/null"
    _, said = await here.finish(sandbox, "sh", "-c", script, security=security)
    assert said.startswith("pipe:")
    assert said.endswith("\nended")
    failing = await here.create(sandbox, "no-such-program", name="failing", security=security)
    with pytest.raises(RuntimeFailure, match="not found"):
        await here.runtime.start_container(failing)
    container = await here.run(sandbox, name="other", security=security)
    await refused(here, container, "chmod 600 /dev/null")
    assert (await here.exec(container, "chmod", "600", "/proc/1/fd/0")).code != 0
    after = os.stat("/dev/null")
    assert (after.st_uid, after.st_gid, stat.S_IMODE(after.st_mode)) == (0, 0, 0o666)


@pytest.mark.parametrize("own_users", [False, True])
async def test_command_never_gets_the_null_device_of_the_node(here: Node, *, own_users: bool) -> None:
    """crun gives the input of a command to its user, who could close the device to the whole node."""
    sandbox = await (pod(here) if own_users else here.pod())
    container = await here.run(sandbox, security=Security(user="1000", group=2000))
    said = await here.exec(container, "sh", "-c", "readlink /proc/self/fd/0; cat /dev/stdin; id -u")
    first, last = said.out.split()
    assert first.startswith("pipe:")
    assert last == "1000", "its input has ended"
    found = os.stat("/dev/null")
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (0, 0, 0o666)


async def test_restarted_runtime_takes_the_null_device_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if a runtime had been killed between crun's change and the start of the process."""
    device = tmp_path / "null"
    os.mknod(device, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    os.chown(device, ROOT, ROOT)
    monkeypatch.setattr(stdio, "NULL", device)
    async with node(tmp_path / "node"):
        found = device.stat()
        assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (0, 0, 0o666)


async def test_shared_processes_and_ephemeral_containers_are_inside(here: Node) -> None:
    sandbox = await pod(here, share_processes=True)
    first = await here.run(sandbox, "sleep", "3600")
    second = await here.run(sandbox, name="second")
    assert "sleep 3600" in await shell(here, second, "ps")
    assert await shell(here, second, "kill $(pidof sleep) && echo killed") == "killed\n"
    assert (await here.ended(first)).exit_code == 143
    other = await pod(here, IdRange(first=4 * 65536))
    target = await here.run(other, "sleep", "3600")
    debugger = await here.run(other, name="debugger", process_target=target)
    assert "sleep 3600" in await shell(here, debugger, "ps; readlink /proc/1/root")


async def test_sysctls_network_and_ports_are_the_pods_own(here: Node) -> None:
    sysctls = {"net.ipv4.ip_unprivileged_port_start": "80", "kernel.shm_rmid_forced": "1"}
    sandbox = await here.pod(namespaces=NamespaceOptions(users=USERS), sysctls=sysctls)
    own = Security(user="1000", add_capabilities=("CAP_NET_ADMIN",))
    container = await here.run(sandbox, "sh", "-c", "echo hello | nc -l -p 81", security=own)
    await listening(here, container)
    read = "cat /proc/sys/net/ipv4/ip_unprivileged_port_start /proc/sys/kernel/shm_rmid_forced"
    assert await shell(here, container, read) == "80\n1\n"
    assert "eth0" in await shell(here, container, "ip addr")
    received = bytearray()

    async def nothing() -> AsyncIterator[bytes]:
        await asyncio.Event().wait()
        yield b""

    async def take(chunk: bytes) -> None:
        received.extend(chunk)

    await here.runtime.port_forward(sandbox.id, 81, nothing(), take)
    assert received == b"hello\n"


async def listening(here: Node, container: str) -> None:
    async with asyncio.timeout(20):
        while "0051" not in (await here.exec(container, "cat", "/proc/net/tcp", "/proc/net/tcp6")).out:
            continue


async def test_images_as_volumes_belong_to_the_pods_users(here: Node, tmp_path: Path) -> None:
    layers = [Tree().directory("docs").add("docs/page", b"text", uid=33, gid=33).tar()]
    path = docker_archive(tmp_path / "data.tar", "data", layers, configuration(layers))
    (data,) = await here.runtime.images.load(path)
    mounts = (
        Mount(container_path="/whole", image=data.id),
        Mount(container_path="/part", image=data.id, sub_path="docs"),
    )
    container = await here.run(await pod(here), mounts=mounts)
    assert await shell(here, container, "stat -c %u /whole/docs /part/page") == "0\n33\n"


async def test_unmappable_volume_and_user_are_refused_by_name(here: Node, tmp_path: Path) -> None:
    sandbox = await pod(here)
    text = r"failed to set MOUNT_ATTR_IDMAP on /proc/.*: invalid argument \(maybe the filesystem used"
    with pytest.raises(RuntimeFailure, match=text):
        await here.create(sandbox, mounts=(Mount(container_path="/p", host_path="/proc/bus"),))
    shared = Mount(container_path="/p", host_path=str(tmp_path), propagation=MountPropagation.BIDIRECTIONAL)
    with pytest.raises(RuntimeFailure, match=r"Bidirectional is not possible|not a shared mount"):
        await here.create(sandbox, mounts=(shared,))
    text = "user ID 65536 does not exist in the user namespace of the pod: must be in the range 0-65535"
    with pytest.raises(RuntimeFailure, match=text):
        await here.create(sandbox, security=Security(user="65536"))
    with pytest.raises(RuntimeFailure, match="group ID 70000 does not exist"):
        await here.create(sandbox, security=Security(supplemental_groups=(70000,)))
    await here.runtime.remove_sandbox(sandbox.id)
    assert here.traces() == []


async def test_setuid_program_in_a_volume_is_no_root_of_the_node(here: Node, tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    volume.mkdir(mode=0o777)
    volume.chmod(0o777)
    image = await here.runtime.images.pull("podling.local/host")
    mounts = (Mount(container_path="/v", host_path=str(volume)),)
    sandbox = await pod(here)
    container = await here.run(sandbox, "sleep", "3600", image=image.id, mounts=mounts)
    await shell(here, container, "cp /usr/bin/id /v/id; chmod 4755 /v/id; cp -p /v/id /id")
    assert (volume / "id").stat().st_mode & stat.S_ISUID
    user = Security(user="1000")
    other = await here.run(sandbox, "sleep", "3600", name="u", image=image.id, mounts=mounts, security=user)
    assert await shell(here, other, "/v/id -u") == "0\n", "root of the pod, and of nothing else"
    upper = here.root / "oci" / "containers" / container / "upper"
    assert (upper / "id").stat().st_uid == ROOT


async def test_pod_outlives_its_manager(here: Node) -> None:
    container = await here.run(await pod(here))
    await here.runtime.close()
    later = here.again()
    await later.start()
    try:
        (sandbox,) = await later.runtime.list_sandboxes()
        assert (sandbox.ready, sandbox.users) == (True, USERS)
        assert await shell(later, container, "id -u; echo x > /dev/stderr") == "0\n"
        await later.run(sandbox, name="another")
        await later.runtime.remove_sandbox(sandbox.id)
        assert later.traces() == []
    finally:
        await later.runtime.close()
    await here.runtime.start()


async def test_default_image_of_the_machine_works(here: Node) -> None:
    image = await here.runtime.images.pull("podling.local/host")
    container = await here.run(await pod(here), "sh", "-c", "sleep 3600", image=image.id)
    assert await shell(here, container, "id -u; touch /tmp/x /root/y; stat -c %u /tmp/x") == "0\n0\n"


async def test_status_names_the_feature(here: Node) -> None:
    handlers = (await here.runtime.status()).handlers
    assert {(each.name, each.user_namespaces) for each in handlers} >= {("", True)}


async def test_seccomp_profile_of_the_node_is_enforced(here: Node, tmp_path: Path) -> None:
    """``seccompProfile.type: Localhost``, in pods with and without users of their own."""
    profile = tmp_path / "profile.json"
    refused = {"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO"}
    profile.write_text(json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [refused]}))
    security = Security(seccomp=f"localhost/{profile}")
    for sandbox in (await pod(here), await here.pod()):
        script = "grep ^Seccomp: /proc/self/status; mkdir /made 2>&1"
        ended, said = await here.finish(sandbox, "sh", "-c", script, security=security)
        assert ended.exit_code != 0
        assert said.split()[:2] == ["Seccomp:", "2"]
        assert "Operation not permitted" in said


async def test_proc_is_masked_unless_the_pod_says_otherwise(here: Node) -> None:
    """``procMount: Unmasked`` covers nothing of ``/proc``, whose settings still belong to the node's root."""
    sandbox = await pod(here)
    covers = "grep -c ' /proc/' /proc/self/mountinfo; true"
    masked = Security(masked_paths=DEFAULT_MASKED_PATHS, readonly_paths=DEFAULT_READONLY_PATHS)
    container = await here.run(sandbox, security=masked)
    assert int(await shell(here, container, covers)) > 5
    unmasked = await here.run(sandbox, name="unmasked")
    assert await shell(here, unmasked, covers) == "0\n"
    for one in (container, unmasked):
        said = await here.exec(one, "sh", "-c", "echo 1 > /proc/sys/kernel/core_pattern")
        assert said.code != 0
        assert ("Read-only file system" if one == container else "Permission denied") in said.err


async def test_sysctls_of_the_machine_are_never_set(here: Node) -> None:
    """The runtime writes as the node's root, so it looks at the names itself."""
    shared = NamespaceOptions(host_network=True)
    for options, name in ((NamespaceOptions(users=USERS), "vm.swappiness"), (shared, "net.core.somaxconn")):
        with pytest.raises(RuntimeFailure, match=f'sysctl "{name}" is not in a separate kernel namespace'):
            await here.pod(namespaces=options, sysctls={name: "1"})
    assert here.traces() == []


@pytest.mark.parametrize("own_users", [False, True])
async def test_device_nodes_of_an_image_cannot_be_opened(here: Node, tmp_path: Path, own_users: bool) -> None:
    """The disk of the node and its memory, under names of the image's choice."""
    disk = os.stat(tmp_path).st_dev
    tree = busybox_tree()
    tree.add("disk", kind=tarfile.BLKTYPE, devmajor=os.major(disk), devminor=os.minor(disk), mode=0o666)
    tree.add("memory", kind=tarfile.CHRTYPE, devmajor=1, devminor=1, mode=0o666)
    layers = [tree.tar()]
    path = docker_archive(tmp_path / "d.tar", "devices", layers, configuration(layers))
    (image,) = await here.runtime.images.load(path)
    sandbox = await pod(here) if own_users else await here.pod()
    container = await here.run(sandbox, image=image.id)
    for name in ("disk", "memory"):
        said = await here.exec(container, "head", "-c1", f"/{name}")
        assert said.code != 0
        assert "Operation not permitted" in said.err or "Permission denied" in said.err


def test_machine_that_maps_no_owners_says_so(tmp_path: Path) -> None:
    """A ramfs has no ID-mapped mounts, as no file system has on an old kernel."""
    place = tmp_path / "ramfs"
    place.mkdir()
    linux.mount("ramfs", place, "ramfs")
    try:
        assert lack(place / "trial").startswith(f"failed to set MOUNT_ATTR_IDMAP on {place}/trial: invalid")
    finally:
        linux.unmount(place)
    assert lack(tmp_path / "trial") == ""
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()


async def test_node_starts_after_its_trial_of_mounts_was_killed(here: Node) -> None:
    await here.runtime.close()
    memory = here.root / "oci" / "trial" / "memory"
    memory.mkdir(parents=True)
    linux.mount("tmpfs", memory, "tmpfs", 0, "size=64k")
    await here.runtime.start()
    assert not memory.parent.exists()
    assert (await here.runtime.status()).handlers[0].user_namespaces

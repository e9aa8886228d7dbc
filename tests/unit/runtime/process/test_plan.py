"""Plans that turn a container into a host process: environment, refusals and warnings."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from msgspec.structs import replace

from podling.runtime.base import (
    ContainerSpec,
    LinuxResources,
    Mount,
    PortMapping,
    RuntimeFailure,
    SandboxSpec,
    Security,
    VolumeDevice,
)
from podling.runtime.process import plan
from podling.runtime.process.plan import Defaults, Identity

ROOT, ANYBODY = Identity(0, 0), Identity(1000, 1000)
ROOTFS = Path("/state/rootfs")
IMAGE = Defaults(
    entrypoint=("entry",), command=("serve",), environment=(("FROM", "image"),), working_dir="/srv"
)


def spec(**changes: Any) -> ContainerSpec:
    return ContainerSpec(
        **{"name": "app", "image": "id", "image_name": "app:1", "log_path": Path("/log"), **changes}
    )


def mount(container_path: str, **changes: Any) -> Mount:
    return Mount(container_path=container_path, host_path="/host" + container_path, **changes)


@pytest.mark.parametrize(
    ("command", "args", "expected"),
    [
        ((), (), ("entry", "serve")),
        ((), ("-v",), ("entry", "-v")),
        (("sh",), (), ("sh",)),
        (("sh",), ("-c", "true"), ("sh", "-c", "true")),
    ],
)
def test_command_and_args_replace_the_images(
    command: tuple[str, ...], args: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert plan.command_line(spec(command=command, args=args), IMAGE) == expected


def test_without_an_image_the_command_must_be_said() -> None:
    with pytest.raises(
        RuntimeFailure, match=r'container "app" has no command.*"app:1" gives it none; set command'
    ):
        plan.command_line(spec(), Defaults())


def test_the_environment_is_the_containers_with_little_of_ours() -> None:
    ours = {"PATH": "/bin", "HOME": "/home/me", "KUBECONFIG": "/secret"}
    own = spec(env=(("HOME", "/tmp"), ("A", "1")), tty=True)
    assert plan.environment(own, IMAGE, ours, "web", ROOTFS) == {
        "PATH": "/bin",
        "HOME": "/tmp",
        "TERM": "xterm",
        "HOSTNAME": "web",
        "FROM": "image",
        "A": "1",
        "PODLING_ROOTFS": "/state/rootfs",
    }


def test_volumes_are_links_under_the_root() -> None:
    mounts = (mount("/data"), mount("/etc/hosts"))
    assert plan.links(mounts) == (
        (PurePosixPath("data"), "/host/data"),
        (PurePosixPath("etc/hosts"), "/host/etc/hosts"),
    )


def test_volumes_inside_of_volumes_are_refused() -> None:
    with pytest.raises(RuntimeFailure, match='"/data/cache" lies inside volume mount "/data"'):
        plan.links((mount("/data"), mount("/data/cache")))


def test_block_volumes_are_refused() -> None:
    device = VolumeDevice(container_path="/dev/data", host_path="/dev/loop0")
    with pytest.raises(RuntimeFailure, match='volume device "/dev/data": the process runtime has no block'):
        plan.check_devices(spec(devices=(device,)))


def test_an_image_is_no_volume_here() -> None:
    with pytest.raises(RuntimeFailure, match='volume mount "/models" is an image'):
        plan.links((Mount(container_path="/models", image="sha256:1"),))


@pytest.mark.parametrize(
    ("asked", "on_host", "expected"),
    [
        ("", False, "/state/rootfs/srv"),
        ("", True, "/srv"),
        ("/usr/bin", True, "/usr/bin"),
        ("/made/up", False, "/state/rootfs/made/up"),
        ("/data/in", True, "/state/rootfs/data/in"),
        ("relative", True, "/state/rootfs/relative"),
    ],
)
def test_the_working_directory_is_the_machines_unless_it_is_a_volume(
    asked: str, on_host: bool, expected: str
) -> None:
    own = spec(working_dir=asked, mounts=(mount("/data"),))
    assert plan.working_directory(own, IMAGE, ROOTFS, on_host=on_host) == Path(expected)


def test_a_process_starts_where_its_volumes_are() -> None:
    assert plan.working_directory(spec(), Defaults(), ROOTFS, on_host=False) == ROOTFS


USERS = {"www": (33, 33), "me": (1000, 1000)}


@pytest.mark.parametrize(
    ("security", "ours", "expected"),
    [
        (Security(), ANYBODY, None),
        (Security(), ROOT, None),
        (Security(user="33"), ROOT, (33, 0, [])),
        (Security(user="www"), ROOT, (33, 33, [])),
        (Security(user="www:4"), ROOT, (33, 4, [])),
        (Security(user="33", group=5, supplemental_groups=(6, 7)), ROOT, (33, 5, [6, 7])),
        (Security(group=5), ROOT, (0, 5, [])),
        (Security(user="1000"), ANYBODY, None),
        (Security(user="me"), ANYBODY, None),
        (Security(group=5), ANYBODY, None),
    ],
)
def test_security_context_decides_identity(
    security: Security, ours: Identity, expected: tuple[int, int, list[int]] | None
) -> None:
    assert plan.identity(spec(security=security), Defaults(), ours, USERS) == expected


def test_changing_user_needs_root() -> None:
    with pytest.raises(RuntimeFailure, match="runs as user 0, but the process runtime runs as user 1000"):
        plan.identity(spec(security=Security(user="0")), Defaults(), ANYBODY, USERS)
    with pytest.raises(RuntimeFailure, match='user "ghost", whom this machine does not know'):
        plan.identity(spec(security=Security(user="ghost")), Defaults(), ROOT, USERS)


@pytest.mark.parametrize(
    ("changes", "warning"),
    [
        ({"resources": LinuxResources(memory_limit=1)}, "resource limits are not applied"),
        (
            {"mounts": (mount("/a", read_only=True), mount("/b", read_only=True))},
            "read-only mounts are writable: /a, /b",
        ),
        ({"security": Security(privileged=True)}, "privileged mode is not given"),
        ({"security": Security(add_capabilities=("NET_ADMIN",))}, "capabilities are not changed"),
        (
            {"security": Security(read_only_rootfs=True)},
            "the root filesystem is the machine's own, not read-only",
        ),
        ({"security": Security(group=5)}, "groups are not changed without root"),
        ({"security": Security(seccomp="localhost//p.json")}, "the seccomp profile is not applied"),
        (
            {"process_target": "other"},
            "process namespaces are not shared: all processes of the machine are visible",
        ),
    ],
)
def test_unsupported_container_fields_are_warned_of(changes: dict[str, Any], warning: str) -> None:
    assert plan.container_warnings(spec(**changes), ANYBODY) == (warning,)


def test_a_plain_container_lacks_nothing() -> None:
    token = mount("/var/run/secrets/kubernetes.io/serviceaccount", read_only=True)
    every_day = LinuxResources(cpu_shares=2, oom_score_adj=1000, pids_limit=-1)
    assert plan.container_warnings(spec(mounts=(token,), resources=every_day), ANYBODY) == ()


def test_unsupported_sandbox_fields_are_warned_of() -> None:
    plain = SandboxSpec(pod_uid="u", pod_name="p", pod_namespace="n", log_directory=Path("/l"))
    same = PortMapping(container_port=80, host_port=80)
    other = PortMapping(container_port=80, host_port=8080)
    assert plan.sandbox_warnings(plain) == ()
    assert plan.sandbox_warnings(replace(plain, port_mappings=(same, other), sysctls={"a.b": "1"})) == (
        "host ports are not forwarded: 8080 to 80",
        "sysctls are not set: a.b",
    )

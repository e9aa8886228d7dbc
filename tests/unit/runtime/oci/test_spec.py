"""The OCI configuration of a container, from what the pod and the image say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podling.runtime.base import (
    ContainerSpec,
    LinuxResources,
    Mount,
    MountPropagation,
    RuntimeFailure,
    Security,
)
from podling.runtime.images.image_documents import RunConfig
from podling.runtime.images.records import ImageContent
from podling.runtime.oci.spec import (
    Device,
    Inputs,
    environment,
    oci_config,
    process_arguments,
    stop_signal,
    working_directory,
)
from podling.runtime.oci.users import User
from podling.runtime.security_modules import SelinuxLabels


def image(binds: tuple[str, ...] = (), **config: Any) -> ImageContent:
    return ImageContent(
        id="sha256:1",
        ref="ref",
        layers=(),
        config=RunConfig(**config),
        architecture="amd64",
        os="linux",
        binds=binds,
    )


def spec(**wish: Any) -> ContainerSpec:
    return ContainerSpec(**{"name": "app", "image": "sha256:1", "log_path": Path("/log"), **wish})


def configured(container: ContainerSpec, **more: Any) -> dict[str, Any]:
    whole: dict[str, Any] = {
        "spec": container,
        "image": image(cmd=["run"]),
        "user": User(33, 34, (34, 50)),
        "capabilities": ("CAP_KILL",),
        "rootfs": Path("/rootfs"),
        "state": Path("/state"),
        "cgroup": "/pods/a/c",
        "namespaces": {"network": "/ns/net", "ipc": "/ns/ipc", "uts": "/ns/uts"},
        "hostname": "pod",
        "shm": Path("/shm"),
        **more,
    }
    return oci_config(Inputs(**whole))


def mount_at(config: dict[str, Any], place: str) -> dict[str, Any]:
    (found,) = [mount for mount in config["mounts"] if mount["destination"] == place]
    return dict(found)


@pytest.mark.parametrize(
    ("entrypoint", "cmd", "command", "args", "result"),
    [
        # the table of the Kubernetes documentation
        (["/ep-1"], ["foo", "bar"], (), (), ("/ep-1", "foo", "bar")),
        (["/ep-1"], ["foo", "bar"], ("/ep-2",), (), ("/ep-2",)),
        (["/ep-1"], ["foo", "bar"], (), ("zoo", "boo"), ("/ep-1", "zoo", "boo")),
        (["/ep-1"], ["foo", "bar"], ("/ep-2",), ("zoo", "boo"), ("/ep-2", "zoo", "boo")),
        (None, ["foo"], (), (), ("foo",)),
        (None, ["foo"], (), ("bar",), ("bar",)),
    ],
)
def test_command_and_image_decide_arguments(
    entrypoint: list[str] | None,
    cmd: list[str] | None,
    command: tuple[str, ...],
    args: tuple[str, ...],
    result: tuple[str, ...],
) -> None:
    assert (
        process_arguments(spec(command=command, args=args), image(entrypoint=entrypoint, cmd=cmd)) == result
    )


def test_nothing_to_run_is_an_error() -> None:
    with pytest.raises(RuntimeFailure, match="no command specified"):
        process_arguments(spec(), image())


def test_the_pods_variables_win_over_the_images() -> None:
    base = image(env=["PATH=/bin", "COLOUR=red", "EMPTY="])
    container = spec(env=(("COLOUR", "blue"), ("HOSTNAME", "other")))
    assert environment(container, base, "pod") == ["PATH=/bin", "HOSTNAME=other", "COLOUR=blue", "EMPTY="]


def test_a_terminal_has_a_kind_and_every_process_a_path() -> None:
    assert environment(spec(tty=True), image(), "pod") == [
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOSTNAME=pod",
        "TERM=xterm",
    ]


def test_defaults_come_from_the_image() -> None:
    whole = image(working_dir="/srv", stop_signal="SIGUSR1")
    assert (working_directory(spec(), whole), stop_signal(spec(), whole)) == ("/srv", "SIGUSR1")
    asked = spec(working_dir="/tmp", stop_signal="SIGINT")
    assert (working_directory(asked, whole), stop_signal(asked, whole)) == ("/tmp", "SIGINT")
    assert (working_directory(spec(), image()), stop_signal(spec(), image())) == ("/", "SIGTERM")


def test_process_section_follows_spec() -> None:
    process = configured(spec(tty=True, security=Security(no_new_privileges=True)))["process"]
    assert process["user"] == {"uid": 33, "gid": 34, "additionalGids": [34, 50]}
    assert process["capabilities"] == {name: ["CAP_KILL"] for name in ("bounding", "effective", "permitted")}
    assert (process["terminal"], process["noNewPrivileges"], process["args"]) == (True, True, ["run"])
    assert "oomScoreAdj" not in process
    assert configured(spec(), oom_score_adj=-997)["process"]["oomScoreAdj"] == -997


def test_namespaces_are_joined_made_or_shared_with_the_node() -> None:
    namespaces = configured(spec(), namespaces={"network": "host", "ipc": "/ns/ipc", "pid": "/ns/pid"})[
        "linux"
    ]["namespaces"]
    assert namespaces == [
        {"type": "pid", "path": "/ns/pid"},
        {"type": "ipc", "path": "/ns/ipc"},
        {"type": "uts"},
        {"type": "mount"},
    ]


def test_a_cgroup_namespace_only_with_version_2() -> None:
    kinds = [item["type"] for item in configured(spec(), unified_cgroups=True)["linux"]["namespaces"]]
    assert "cgroup" in kinds
    assert "cgroup" not in [item["type"] for item in configured(spec())["linux"]["namespaces"]]


@pytest.mark.parametrize(
    ("mount", "options"),
    [
        (Mount(container_path="/d", host_path="/h"), ["rbind", "rprivate", "rw"]),
        (Mount(container_path="/d", host_path="/h", read_only=True), ["rbind", "rprivate", "ro"]),
        (
            Mount(container_path="/d", host_path="/h", read_only=True, recursive_read_only=True),
            ["rbind", "rprivate", "rro"],
        ),
        (
            Mount(container_path="/d", host_path="/h", propagation=MountPropagation.HOST_TO_CONTAINER),
            ["rbind", "rslave", "rw"],
        ),
        (
            Mount(container_path="/d", host_path="/h", propagation=MountPropagation.BIDIRECTIONAL),
            ["rbind", "rshared", "rw"],
        ),
    ],
)
def test_mount_options_follow_spec(mount: Mount, options: list[str]) -> None:
    made = mount_at(configured(spec(mounts=(mount,))), "/d")
    assert (made["source"], made["options"]) == ("/h", options)


def test_the_roots_propagation_lets_mounts_through() -> None:
    def propagation(*kinds: MountPropagation) -> str:
        mounts = tuple(
            Mount(container_path=f"/{kind.value}", host_path="/h", propagation=kind) for kind in kinds
        )
        return str(configured(spec(mounts=mounts))["linux"]["rootfsPropagation"])

    assert propagation() == "rprivate"
    assert propagation(MountPropagation.HOST_TO_CONTAINER) == "rslave"
    assert propagation(MountPropagation.HOST_TO_CONTAINER, MountPropagation.BIDIRECTIONAL) == "rshared"


def test_the_pods_mounts_replace_the_defaults_at_their_place() -> None:
    mounts = (
        Mount(container_path="/dev/shm/", host_path="/mine"),
        Mount(container_path="//etc/hosts", host_path="/h"),
    )
    config = configured(spec(mounts=mounts), hostname_file=Path("/hostname"))
    assert mount_at(config, "/dev/shm")["source"] == "/mine"
    assert mount_at(config, "/etc/hosts")["source"] == "/h"
    assert mount_at(config, "/etc/hostname")["source"] == "/hostname"


def test_the_machines_directories_show_through_read_only() -> None:
    made = mount_at(configured(spec(), image=image(binds=("/usr",), cmd=["run"])), "/usr")
    assert (made["source"], made["options"]) == ("/state/host-files/usr", ["rbind", "rprivate", "ro"])


def test_a_plain_container_is_confined() -> None:
    security = Security(masked_paths=("/proc/kcore",), readonly_paths=("/proc/sys",), read_only_rootfs=True)
    counters = ("/sys/devices/system/cpu/cpu0/thermal_throttle",)
    filtered = {"seccomp": {"defaultAction": "x"}, "seccomp_filter": "AAAA"}
    config = configured(spec(security=security), cpu_counters=counters, **filtered)
    linux = config["linux"]
    assert (linux["maskedPaths"], linux["readonlyPaths"]) == (["/proc/kcore", *counters], ["/proc/sys"])
    assert configured(spec(), cpu_counters=counters)["linux"]["maskedPaths"] == [], "as `procMount` says"
    assert linux["seccomp"] == {"defaultAction": "x"}
    assert config["annotations"] == {"run.oci.seccomp_bpf_data": "AAAA"}
    assert config["root"] == {"path": "/rootfs", "readonly": True}
    assert linux["resources"]["devices"][0] == {"allow": False, "access": "rwm"}
    assert "ro" in mount_at(config, "/sys")["options"]
    assert "devices" not in linux


def test_a_privileged_container_is_not() -> None:
    security = Security(privileged=True, masked_paths=("/proc/kcore",), readonly_paths=("/proc/sys",))
    device = Device(path="/dev/kvm", kind="c", major=10, minor=232, mode=0o660)
    masked = {"seccomp": {"defaultAction": "x"}, "cpu_counters": ("/counters",)}
    config = configured(spec(security=security), devices=(device,), **masked)
    linux = config["linux"]
    assert (linux["maskedPaths"], linux["readonlyPaths"]) == ([], [])
    assert "seccomp" not in linux
    assert linux["resources"]["devices"] == [{"allow": True, "access": "rwm"}]
    assert [item["path"] for item in linux["devices"]] == ["/dev/kvm"]
    assert "rw" in mount_at(config, "/sys")["options"]


def test_the_pods_annotations_do_not_reach_the_oci_runtime() -> None:
    """crun takes orders from annotations: hooks, other filters, another handler."""
    assert configured(spec(annotations={"run.oci.handler": "evil"}))["annotations"] == {}


def test_limits_that_are_given_and_only_those() -> None:
    limits = LinuxResources(cpu_shares=512, cpu_quota=50_000, memory_limit=1 << 20, pids_limit=10)
    resources = configured(spec(resources=limits))["linux"]["resources"]
    del resources["devices"]
    assert resources == {
        "cpu": {"shares": 512, "quota": 50_000},
        "memory": {"limit": 1 << 20},
        "pids": {"limit": 10},
    }
    bare = configured(spec())["linux"]["resources"]
    assert list(bare) == ["devices"]


def test_files_of_the_newer_cgroups_are_for_machines_that_have_them() -> None:
    limits = spec(resources=LinuxResources(unified={"memory.oom.group": "1"}))
    assert configured(limits, unified_cgroups=True)["linux"]["resources"]["unified"] == {
        "memory.oom.group": "1"
    }
    assert "unified" not in configured(limits)["linux"]["resources"]


def test_huge_pages_are_limited_by_each_version_of_cgroups() -> None:
    files = {"hugetlb.2MB.max": "4194304", "hugetlb.1GB.max": "0", "memory.high": "9"}
    limits = spec(resources=LinuxResources(unified=files))
    older = configured(limits, huge_page_cgroups=True)["linux"]["resources"]
    assert older["hugepageLimits"] == [{"pageSize": "2MB", "limit": 4194304}, {"pageSize": "1GB", "limit": 0}]
    newer = configured(limits, unified_cgroups=True)["linux"]["resources"]
    assert newer["unified"] == files
    assert "hugepageLimits" not in configured(limits)["linux"]["resources"], "the controller is not mounted"


def test_profile_and_label_are_of_containers_that_have_them() -> None:
    plain = configured(spec())
    assert "apparmorProfile" not in plain["process"]
    assert "selinuxLabel" not in plain["process"]
    config = configured(spec(), app_armor="web", selinux=SelinuxLabels("u:r:t:s0", "u:object_r:f:s0"))
    assert config["process"]["apparmorProfile"] == "web"
    assert config["process"]["selinuxLabel"] == "u:r:t:s0"
    assert config["linux"]["mountLabel"] == "u:object_r:f:s0"

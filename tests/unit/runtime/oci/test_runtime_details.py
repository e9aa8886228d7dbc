"""Small decisions of the runtime: messages, sysctls, namespaces, the holder's program, conmon's arguments."""

from __future__ import annotations

import struct
import subprocess
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from podling.runtime.base import ContainerState, NamespaceOptions, RuntimeFailure
from podling.runtime.images.image_documents import RunConfig
from podling.runtime.images.records import ImageContent
from podling.runtime.oci.commands import wait
from podling.runtime.oci.conmon import Monitored, arguments
from podling.runtime.oci.detect import CgroupMode, Engine
from podling.runtime.oci.error_messages import start_failure
from podling.runtime.oci.init import program
from podling.runtime.oci.prepare import check_platform
from podling.runtime.oci.records import ContainerRecord, Records
from podling.runtime.oci.sandbox import Place, joined_namespaces, own_namespaces, sysctl_path
from tests.support.descriptors import no_descriptors


@pytest.mark.parametrize(
    ("said", "command", "message", "code"),
    [
        (
            "executable file `badcommand` not found in $PATH: No such file or directory",
            "badcommand",
            'exec: "badcommand": executable file not found in $PATH',
            127,
        ),
        (
            'runc create failed: unable to start container process: exec: "badcommand": '
            "executable file not found in $PATH",
            "badcommand",
            'exec: "badcommand": executable file not found in $PATH',
            127,
        ),
        (
            "executable file `/bad/path` not found: No such file or directory",
            "/bad/path",
            'exec: "/bad/path": stat /bad/path: no such file or directory',
            127,
        ),
        ("open executable: Permission denied", "/data", 'exec: "/data": permission denied', 128),
        (
            'runc create failed: unable to start container process: exec: "/data": permission denied',
            "/data",
            'exec: "/data": permission denied',
            128,
        ),
        ("exec container process `/x`: Exec format error", "/x", 'exec: "/x": exec format error', 128),
        (
            "error stat'ing file `/nope`: No such file or directory",
            "true",
            "error stat'ing file `/nope`: No such file or directory",
            128,
        ),
        ("warning first\nsomething else broke", "true", "something else broke", 128),
        ("", "true", "", 128),
    ],
)
def test_the_engines_words_become_those_users_know(said: str, command: str, message: str, code: int) -> None:
    assert start_failure(said, command) == (message, code)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("net.ipv4.ip_forward", "/proc/sys/net/ipv4/ip_forward"),
        ("net/ipv4/conf/eth0.1/forwarding", "/proc/sys/net/ipv4/conf/eth0.1/forwarding"),
        ("net.ipv4.conf.eth0/1.forwarding", "/proc/sys/net/ipv4/conf/eth0.1/forwarding"),
        ("kernel.shm_rmid_forced", "/proc/sys/kernel/shm_rmid_forced"),
    ],
)
def test_sysctls_are_paths(name: str, path: str) -> None:
    assert sysctl_path(name) == path


@pytest.mark.parametrize(
    ("options", "own", "joined"),
    [
        (
            NamespaceOptions(),
            ["net", "uts", "ipc"],
            {"network": "/s/net", "uts": "/s/uts", "ipc": "/s/ipc"},
        ),
        (
            NamespaceOptions(host_network=True),
            ["ipc"],
            {"network": "host", "uts": "host", "ipc": "/s/ipc"},
        ),
        (
            NamespaceOptions(host_ipc=True, host_pid=True),
            ["net", "uts"],
            {"network": "/s/net", "uts": "/s/uts", "ipc": "host", "pid": "host"},
        ),
    ],
)
def test_namespace_options_decide_pod_namespaces(
    options: NamespaceOptions, own: list[str], joined: dict[str, str]
) -> None:
    assert own_namespaces(options) == own
    assert joined_namespaces(Place(Path("/s")), options, 0) == joined


def test_a_shared_process_namespace_is_joined_where_it_is_pinned() -> None:
    assert joined_namespaces(Place(Path("/s")), NamespaceOptions(share_processes=True), 7)["pid"] == "/s/pid"


@pytest.mark.parametrize(("machine", "number"), [("amd64", 62), ("arm64", 183)])
def test_the_holder_is_a_whole_program(machine: str, number: int) -> None:
    elf = program(machine)
    assert elf.startswith(b"\x7fELF\x02\x01")
    kind, architecture = struct.unpack_from("<HH", elf, 16)
    assert (kind, architecture) == (2, number)
    (entry,) = struct.unpack_from("<Q", elf, 24)
    assert entry == 0x400000 + 64 + 56
    (size,) = struct.unpack_from("<Q", elf, 64 + 32)
    assert size == len(elf)


def test_the_holders_action_is_where_its_code_looks_for_it() -> None:
    """``lea rsi, [rip + 31]`` ends at offset 17 of the code; ignoring a signal is the number 1."""
    code = program("amd64")[64 + 56 :]
    assert struct.unpack_from("<Q", code, 17 + 31) == (1,)
    arm = program("arm64")[64 + 56 :]
    assert struct.unpack_from("<Q", arm, 8 + 48) == (1,)


def test_machines_without_a_holder_say_so() -> None:
    with pytest.raises(RuntimeFailure, match="not supported on riscv64"):
        program("riscv64")


def image(os: str, architecture: str) -> ImageContent:
    config = RunConfig()
    return ImageContent(id="i", ref="i", layers=(), config=config, architecture=architecture, os=os)


def test_an_image_of_another_machine_is_named() -> None:
    check_platform(image("linux", "amd64"), "amd64", emulated=False)
    check_platform(image("", ""), "amd64", emulated=False)
    check_platform(image("linux", "arm64"), "amd64", emulated=True)
    with pytest.raises(RuntimeFailure) as caught:
        check_platform(image("linux", "arm64"), "amd64", emulated=False)
    assert str(caught.value) == "image is built for linux/arm64, this node is linux/amd64"
    with pytest.raises(RuntimeFailure, match="image is built for windows/amd64"):
        check_platform(image("windows", "amd64"), "amd64", emulated=True)


ENGINE = Engine(
    name="crun", path="/bin/crun", conmon="/bin/conmon", mode=CgroupMode.UNIFIED, nsenter="/bin/nsenter"
)


def monitored(**more: bool) -> Monitored:
    return Monitored(
        id="c1",
        name="app",
        bundle=Path("/b"),
        log_path="/log",
        exits=Path("/exits"),
        program="/bin/crun",
        engine_root=Path("/e"),
        **more,
    )


def pairs(line: list[str]) -> set[tuple[str, str]]:
    return set(pairwise(line))


def test_conmon_arguments_name_all_paths() -> None:
    line = arguments(ENGINE, monitored(), None)
    assert {
        ("--cid", "c1"),
        ("--bundle", "/b"),
        ("--runtime", "/bin/crun"),
        ("--runtime-arg", "--root=/e"),
        ("--log-path", "k8s-file:/log"),
        ("--exit-dir", "/exits"),
    } <= pairs(line)
    assert not {"--terminal", "--stdin", "--leave-stdin-open"} & set(line)


def test_conmon_runs_the_engine_in_another_view_of_the_mounts() -> None:
    line = arguments(ENGINE, monitored(), 9)
    given = [value for flag, value in pairwise(line) if flag == "--runtime-arg"]
    assert ("--runtime", "/bin/nsenter") in pairs(line)
    assert given[0].startswith("--mount=/proc/")
    assert given[0].endswith("/fd/9")
    assert given[1:] == ["/bin/crun", "--root=/e"]


@pytest.mark.parametrize(
    ("options", "flags"),
    [
        ({"tty": True}, {"--terminal"}),
        ({"stdin": True}, {"--stdin", "--leave-stdin-open"}),
        ({"stdin": True, "stdin_once": True}, {"--stdin"}),
    ],
)
def test_stream_options_become_conmon_flags(options: dict[str, bool], flags: set[str]) -> None:
    line = arguments(ENGINE, monitored(**options), None)
    assert set(line) & {"--terminal", "--stdin", "--leave-stdin-open"} == flags


def test_record_that_cannot_be_opened_now_is_no_stray(tmp_path: Path) -> None:
    """Taken for a stray, the container would be removed."""
    (tmp_path / "c1").mkdir()
    (tmp_path / "c1" / "record.json").write_text("{}")
    with no_descriptors(), pytest.raises(OSError, match="Too many open files"):
        Records(tmp_path, ContainerRecord).load()


@pytest.mark.asyncio(loop_factories=["real"])
async def test_child_is_awaited_without_a_free_descriptor() -> None:
    process = subprocess.Popen(["sleep", "0.05"])  # noqa: ASYNC220
    with no_descriptors():
        assert await wait(process) == 0


def test_records_survive_and_strays_are_reported(tmp_path: Path) -> None:
    records = Records(tmp_path, ContainerRecord)
    record = ContainerRecord(
        id="c1",
        sandbox_id="s1",
        pod_uid="u",
        name="app",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        state=ContainerState.RUNNING,
        log_path="/log",
        cgroup="/pods/a/c1",
        user=(1, 2, (2, 3)),
    )
    records.save(record)
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "record.json").write_text('{"id": "ha')
    (tmp_path / "empty").mkdir()

    again = Records(tmp_path, ContainerRecord)
    assert again.load() == ["empty", "half"]
    assert again.all() == (record,)
    again.forget("c1")
    assert not (tmp_path / "c1").exists()
    assert again.get("c1") is None

"""System calls that the seccomp filter allows, by capabilities and architecture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podling.runtime.base import RuntimeFailure
from podling.runtime.oci import seccomp_table
from podling.runtime.oci.capabilities import DEFAULT, NAMES
from podling.runtime.oci.seccomp import default_profile, from_file, profile_for


def allowed(profile: dict[str, Any]) -> set[str]:
    """Return the calls that are allowed with any arguments."""
    return {
        name
        for rule in profile["syscalls"]
        if rule["action"] == "SCMP_ACT_ALLOW" and not rule.get("args")
        for name in rule["names"]
    }


@pytest.mark.parametrize(
    ("call", "capability"),
    [
        ("mount", "CAP_SYS_ADMIN"),
        ("unshare", "CAP_SYS_ADMIN"),
        ("setns", "CAP_SYS_ADMIN"),
        ("bpf", "CAP_BPF"),
        ("perf_event_open", "CAP_PERFMON"),
        ("init_module", "CAP_SYS_MODULE"),
        ("reboot", "CAP_SYS_BOOT"),
        ("settimeofday", "CAP_SYS_TIME"),
        ("open_by_handle_at", "CAP_DAC_READ_SEARCH"),
        ("iopl", "CAP_SYS_RAWIO"),
        ("syslog", "CAP_SYSLOG"),
    ],
)
def test_calls_that_need_a_capability(call: str, capability: str) -> None:
    assert call not in allowed(default_profile(DEFAULT, "amd64"))
    assert call in allowed(default_profile((*DEFAULT, capability), "amd64"))


@pytest.mark.parametrize(
    "call", ["keyctl", "add_key", "request_key", "kexec_load", "io_uring_setup", "userfaultfd", "move_pages"]
)
def test_default_profile_forbids_calls(call: str) -> None:
    assert call not in allowed(default_profile(NAMES, "amd64"))


def test_new_namespaces_are_seen_in_clones_flags() -> None:
    rules = default_profile(DEFAULT, "amd64")["syscalls"]
    (clone,) = [rule for rule in rules if rule["names"] == ["clone"]]
    (flags,) = clone["args"]
    assert (flags["op"], flags["index"], flags["value"]) == ("SCMP_CMP_MASKED_EQ", 0, 0x7E020000)
    (clone3,) = [rule for rule in rules if rule["names"] == ["clone3"]]
    assert clone3["errnoRet"] == 38, "libraries fall back to clone only if the call does not exist"


def test_default_profile_adds_calls_of_architecture() -> None:
    assert "arch_prctl" in allowed(default_profile(DEFAULT, "amd64"))
    assert "arch_prctl" not in allowed(default_profile(DEFAULT, "arm64"))
    assert default_profile(DEFAULT, "arm64")["architectures"] == ["SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"]


def test_nothing_is_listed_twice() -> None:
    assert len(seccomp_table.ALLOWED) == len(set(seccomp_table.ALLOWED))
    for calls in seccomp_table.BY_CAPABILITY.values():
        assert not set(calls) & set(seccomp_table.ALLOWED)


DOCUMENT: dict[str, Any] = {
    "defaultAction": "SCMP_ACT_ALLOW",
    "archMap": [{"architecture": "SCMP_ARCH_X86_64"}],
    "syscalls": [
        {"names": ["chmod"], "action": "SCMP_ACT_ERRNO", "comment": "no", "includes": {}, "excludes": {}},
        {"names": ["mount"], "action": "SCMP_ACT_ERRNO", "excludes": {"caps": ["CAP_SYS_ADMIN"]}},
        {"names": ["modify_ldt"], "action": "SCMP_ACT_ERRNO", "includes": {"arches": ["amd64"]}},
        {"name": "chown", "action": "SCMP_ACT_ERRNO", "args": None},
    ],
}


@pytest.mark.parametrize(
    ("capabilities", "machine", "names"),
    [
        ((), "amd64", ["chmod", "mount", "modify_ldt", "chown"]),
        (("CAP_SYS_ADMIN",), "amd64", ["chmod", "modify_ldt", "chown"]),
        ((), "arm64", ["chmod", "mount", "chown"]),
    ],
)
def test_a_profile_from_a_file_is_decided_for_this_container(
    capabilities: tuple[str, ...], machine: str, names: list[str]
) -> None:
    profile = from_file(DOCUMENT, capabilities, machine)
    assert [name for rule in profile["syscalls"] for name in rule["names"]] == names
    assert all(set(rule) <= {"names", "action", "errnoRet", "args"} for rule in profile["syscalls"])
    assert set(profile) == {"defaultAction", "architectures", "syscalls"}


def test_profile_name_decides_source(tmp_path: Path) -> None:
    file = tmp_path / "profile.json"
    file.write_text(json.dumps(DOCUMENT))
    assert profile_for("unconfined", DEFAULT) is None
    assert profile_for("", DEFAULT) is None
    assert profile_for("runtime/default", DEFAULT) is not None
    loaded = profile_for(f"localhost/{file}", DEFAULT)
    assert loaded is not None
    assert loaded["defaultAction"] == "SCMP_ACT_ALLOW"


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ("localhost//nowhere.json", "cannot load seccomp profile /nowhere.json: No such file or directory"),
        ("something/else", 'invalid seccomp profile "something/else"'),
    ],
)
def test_a_profile_that_cannot_be_had(wish: str, message: str) -> None:
    with pytest.raises(RuntimeFailure) as caught:
        profile_for(wish, DEFAULT)
    assert str(caught.value) == message

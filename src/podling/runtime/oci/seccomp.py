"""The seccomp filter of a container: ours for ``runtime/default``, a file's for ``localhost/<path>``.

``default_profile`` is pure and depends on capabilities: who may administer the system may also make the
calls that this takes. A refused call fails with EPERM; clone3(2), whose flags a filter cannot see, with
ENOSYS, so that libraries fall back to clone(2), whose flags it can.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec

from podling.runtime.base import RuntimeFailure
from podling.runtime.oci import seccomp_table as table
from podling.runtime.platform import architecture

EPERM = 1
ENOSYS = 38

_PROFILE_FIELDS = ("defaultAction", "defaultErrnoRet", "flags", "listenerPath", "listenerMetadata")
_RULE_FIELDS = ("names", "action", "errnoRet", "args")
_LOCALHOST = "localhost/"


def profile_for(wanted: str, capabilities: Collection[str]) -> Mapping[str, Any] | None:
    """Return the filter for ``Security.seccomp``; None for ``unconfined``. Raises ``RuntimeFailure``."""
    if wanted in ("", "unconfined"):
        return None
    if wanted == "runtime/default":
        return default_profile(capabilities, architecture())
    if not wanted.startswith(_LOCALHOST):
        raise RuntimeFailure(f'invalid seccomp profile "{wanted}"')
    path = Path("/") / wanted.removeprefix(_LOCALHOST)
    try:
        document = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except OSError as error:
        raise RuntimeFailure(f"cannot load seccomp profile {path}: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise RuntimeFailure(f"cannot decode seccomp profile {path}: {error}") from error
    return from_file(document, capabilities, architecture())


def default_profile(capabilities: Collection[str], machine: str) -> dict[str, Any]:
    """Return the filter of ``runtime/default`` for a container with ``capabilities`` on ``machine``."""
    names = set(table.ALLOWED) | set(table.BY_ARCHITECTURE.get(machine, ()))
    for capability, more in table.BY_CAPABILITY.items():
        if capability in capabilities:
            names.update(more)
    rules = [_allow(*sorted(names))]
    rules.extend(_allow("personality", _equal(0, value)) for value in table.PERSONALITIES)
    rules.append(_allow("socket", {"index": 0, "value": table.AF_VSOCK, "op": "SCMP_CMP_NE"}))
    if "CAP_SYS_ADMIN" not in capabilities:
        # On s390x the flags are clone's second argument.
        position = 1 if machine == "s390x" else 0
        flags = {"index": position, "value": table.NAMESPACE_FLAGS, "valueTwo": 0}
        rules.append(_allow("clone", {**flags, "op": "SCMP_CMP_MASKED_EQ"}))
        rules.append({"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": ENOSYS})
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": EPERM,
        "architectures": list(table.ARCHITECTURES.get(machine, ())),
        "syscalls": rules,
    }


def _allow(*parts: str | dict[str, Any]) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "names": [part for part in parts if isinstance(part, str)],
        "action": "SCMP_ACT_ALLOW",
    }
    arguments = [part for part in parts if not isinstance(part, str)]
    return rule | ({"args": arguments} if arguments else {})


def _equal(index: int, value: int) -> dict[str, Any]:
    return {"index": index, "value": value, "op": "SCMP_CMP_EQ"}


def from_file(document: Mapping[str, Any], capabilities: Collection[str], machine: str) -> dict[str, Any]:
    """Return a profile as docker and the kubelet's users write them, in the OCI runtime's form.

    Rules for other capabilities or machines (``includes``, ``excludes``) are decided here.
    """
    result = {name: document[name] for name in _PROFILE_FIELDS if name in document}
    result["architectures"] = list(document.get("architectures") or table.ARCHITECTURES.get(machine, ()))
    rules = []
    for rule in document.get("syscalls") or ():
        if not _applies(rule, capabilities, machine):
            continue
        kept = {name: rule[name] for name in _RULE_FIELDS if rule.get(name) is not None}
        if "names" not in kept and "name" in rule:
            kept["names"] = [rule["name"]]
        rules.append(kept)
    return result | {"syscalls": rules}


def _applies(rule: Mapping[str, Any], capabilities: Collection[str], machine: str) -> bool:
    includes, excludes = rule.get("includes") or {}, rule.get("excludes") or {}
    if includes.get("arches") and machine not in includes["arches"]:
        return False
    if not set(includes.get("caps") or ()) <= set(capabilities):
        return False
    return machine not in (excludes.get("arches") or ()) and not (
        set(excludes.get("caps") or ()) & set(capabilities)
    )

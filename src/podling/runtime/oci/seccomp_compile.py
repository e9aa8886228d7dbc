"""Seccomp filters compiled once, by the same libseccomp that the OCI runtime would use each time.

Turning some four hundred rules into a filter takes libseccomp about as long as crun needs for everything
else. crun takes a finished filter from an annotation, so each distinct profile is compiled when it is
first met and kept. libseccomp also sorts the rules into a tree, which makes every system call
of the container cheaper. Where the library is missing, or a profile needs more than rules, nothing is
compiled and crun does it from the profile, which always stays in the configuration.
"""

from __future__ import annotations

import base64
import ctypes
import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

ANNOTATION = "run.oci.seccomp_bpf_data"

_LIBRARY = "libseccomp.so.2"
_OPTIMIZE = 8
"""SCMP_FLTATR_CTL_OPTIMIZE (libseccomp 2.5); value 2 is a binary tree."""

_ACTIONS = {
    "SCMP_ACT_ALLOW": 0x7FFF0000,
    "SCMP_ACT_LOG": 0x7FFC0000,
    "SCMP_ACT_TRAP": 0x00030000,
    "SCMP_ACT_KILL": 0x00000000,
    "SCMP_ACT_KILL_THREAD": 0x00000000,
    "SCMP_ACT_KILL_PROCESS": 0x80000000,
    "SCMP_ACT_ERRNO": 0x00050000,
    "SCMP_ACT_TRACE": 0x7FF00000,
}
_WITH_NUMBER = ("SCMP_ACT_ERRNO", "SCMP_ACT_TRACE")
_OPERATORS = {
    "SCMP_CMP_NE": 1,
    "SCMP_CMP_LT": 2,
    "SCMP_CMP_LE": 3,
    "SCMP_CMP_EQ": 4,
    "SCMP_CMP_GE": 5,
    "SCMP_CMP_GT": 6,
    "SCMP_CMP_MASKED_EQ": 7,
}
_UNKNOWN_CALL = -1


class _Comparison(ctypes.Structure):
    _fields_ = (
        ("arg", ctypes.c_uint),
        ("op", ctypes.c_int),
        ("datum_a", ctypes.c_uint64),
        ("datum_b", ctypes.c_uint64),
    )


class _Unsupported(Exception):
    """The profile, or this machine's library, needs the OCI runtime's own way."""


def compiled(profile: Mapping[str, Any]) -> str:
    """The filter of ``profile`` in base64, as crun's annotation takes it; empty where there is none."""
    return _compiled(msgspec.json.encode(profile, order="deterministic"))


@lru_cache(maxsize=64)
def _compiled(document: bytes) -> str:
    profile = msgspec.json.decode(document)
    if profile.get("flags") or profile.get("listenerPath"):
        return ""
    try:
        return base64.b64encode(_compile(_library(), profile)).decode()
    except (OSError, AttributeError, _Unsupported):
        return ""


def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(_LIBRARY)
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_init.argtypes = (ctypes.c_uint32,)
    library.seccomp_release.argtypes = (ctypes.c_void_p,)
    library.seccomp_attr_set.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32)
    library.seccomp_arch_resolve_name.restype = ctypes.c_uint32
    library.seccomp_arch_resolve_name.argtypes = (ctypes.c_char_p,)
    library.seccomp_arch_add.argtypes = (ctypes.c_void_p, ctypes.c_uint32)
    library.seccomp_syscall_resolve_name.argtypes = (ctypes.c_char_p,)
    library.seccomp_rule_add_array.argtypes = (
        ctypes.c_void_p,
        ctypes.c_uint32,
        ctypes.c_int,
        ctypes.c_uint,
        ctypes.POINTER(_Comparison),
    )
    library.seccomp_export_bpf.argtypes = (ctypes.c_void_p, ctypes.c_int)
    return library


def _compile(library: ctypes.CDLL, profile: Mapping[str, Any]) -> bytes:
    default = _action(profile["defaultAction"], profile.get("defaultErrnoRet"))
    context = library.seccomp_init(default)
    if not context:
        raise _Unsupported
    try:
        # An older library knows no optimisation and says so; the filter is right without.
        library.seccomp_attr_set(context, _OPTIMIZE, 2)
        for name in profile.get("architectures") or ():
            token = library.seccomp_arch_resolve_name(name.removeprefix("SCMP_ARCH_").lower().encode())
            if not token:
                raise _Unsupported
            library.seccomp_arch_add(context, token)
        for rule in profile.get("syscalls") or ():
            action = _action(rule["action"], rule.get("errnoRet"))
            if action != default:
                _add_rule(library, context, action, rule)
        return _exported(library, context)
    finally:
        library.seccomp_release(context)


def _action(name: str, number: int | None) -> int:
    if name not in _ACTIONS:
        raise _Unsupported
    return _ACTIONS[name] | ((1 if number is None else number) if name in _WITH_NUMBER else 0)


def _add_rule(library: ctypes.CDLL, context: int, action: int, rule: Mapping[str, Any]) -> None:
    """One rule for each name. Comparisons of the same argument are alternatives, as OCI runtimes read
    them; of different arguments, all must hold."""
    comparisons = [
        _Comparison(item["index"], _OPERATORS[item["op"]], item.get("value", 0), item.get("valueTwo", 0))
        for item in rule.get("args") or ()
    ]
    indexes = [comparison.arg for comparison in comparisons]
    apart = len(set(indexes)) < len(indexes)
    groups = [[comparison] for comparison in comparisons] if apart else [comparisons]
    for name in rule["names"]:
        call = library.seccomp_syscall_resolve_name(name.encode())
        if call == _UNKNOWN_CALL:
            continue
        for group in groups:
            array = (_Comparison * len(group))(*group)
            if library.seccomp_rule_add_array(context, action, call, len(group), array) < 0:
                raise _Unsupported


def _exported(library: ctypes.CDLL, context: int) -> bytes:
    descriptor = os.memfd_create("seccomp")
    try:
        if library.seccomp_export_bpf(context, descriptor) < 0:
            raise _Unsupported
        return os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    finally:
        os.close(descriptor)

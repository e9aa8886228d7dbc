"""Compilation of seccomp profiles to filters."""

from __future__ import annotations

import base64
import ctypes.util

import pytest

from podling.runtime.oci.capabilities import DEFAULT, NAMES
from podling.runtime.oci.seccomp import default_profile
from podling.runtime.oci.seccomp_compile import compiled


@pytest.mark.skipif(ctypes.util.find_library("seccomp") is None, reason="needs libseccomp")
def test_profiles_are_compiled_where_the_library_is() -> None:
    filter_ = base64.b64decode(compiled(default_profile(DEFAULT, "amd64")))
    assert len(filter_) % 8 == 0, "a filter is a row of eight-byte instructions"
    assert len(filter_) > 8 * 100
    assert compiled(default_profile(NAMES, "amd64")) != compiled(default_profile(DEFAULT, "amd64"))


def test_unsupported_profile_is_left_to_engine() -> None:
    assert compiled({"defaultAction": "SCMP_ACT_NOTIFY", "syscalls": []}) == ""
    assert compiled({"defaultAction": "SCMP_ACT_ALLOW", "flags": ["SECCOMP_FILTER_FLAG_LOG"]}) == ""

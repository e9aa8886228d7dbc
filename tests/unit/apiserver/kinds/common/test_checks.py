"""Tests of the validation functions that kinds share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.machinery.fields import Path
from tests.support.causes import Cause, causes, invalid, required, unsupported

F = Path("f")
RANGE = "must be between 1 and 65535, inclusive"
LOOPBACK = "may not be in the loopback range (127.0.0.0/8, ::1/128)"
LINK_LOCAL = "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
MULTICAST = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
PREFIXED = 'must be a domain-prefixed path (such as "acme.io/foo")'


@pytest.mark.parametrize(
    ("check", "value", "expected"),
    [
        (checks.non_negative, None, []),
        (checks.non_negative, -1, [invalid("f", "-1", "must be greater than or equal to 0")]),
        (checks.port_number, 65535, []),
        (checks.port_number, 0, [invalid("f", "0", RANGE)]),
        (checks.port_or_name, "http", []),
        (checks.port_or_name, None, [invalid("f", "0", RANGE)]),
        (checks.file_mode, 0o777, []),
        (checks.file_mode, 0o1000, [invalid("f", "512", checks.FILE_MODE)]),
        (checks.ordinary_ip, "10.0.0.1", []),
        (checks.ordinary_ip, "here", [invalid("f", '"here"', "must be a valid IP address")]),
        (checks.ordinary_ip, "0.0.0.0", [invalid("f", '"0.0.0.0"', "may not be unspecified (0.0.0.0)")]),
        (checks.ordinary_ip, "127.0.0.1", [invalid("f", '"127.0.0.1"', LOOPBACK)]),
        (checks.ordinary_ip, "fe80::1", [invalid("f", '"fe80::1"', LINK_LOCAL)]),
        (checks.ordinary_ip, "224.0.0.1", [invalid("f", '"224.0.0.1"', MULTICAST)]),
        (checks.domain_prefixed_path, "acme.io/foo", []),
        (checks.domain_prefixed_path, "", [required("f")]),
        (checks.domain_prefixed_path, "foo", [invalid("f", '"foo"', PREFIXED)]),
        (checks.domain_prefixed_path, "acme.io/", [invalid("f", '"acme.io/"', PREFIXED)]),
        (checks.local_file_path, "a/b", []),
        (checks.local_file_path, "/a", [invalid("f", '"/a"', "must be a relative path")]),
        (checks.local_file_path, "a/../b", [invalid("f", '"a/../b"', "must not contain '..'")]),
        (checks.local_file_path, "..data", [invalid("f", '"..data"', "must not start with '..'")]),
        (checks.local_file_path, "../a", [invalid("f", '"../a"', "must not contain '..'")]),
        (checks.int_or_percent, "25%", []),
        (checks.int_or_percent, -1, [invalid("f", "-1", "must be greater than or equal to 0")]),
    ],
)
def test_value_is_checked_with_causes_of_kubernetes(
    check: Callable[[Path, object], Errors], value: object, expected: list[Cause]
) -> None:
    assert causes(check(F, value)) == expected


def test_empty_value_passes_unless_required_or_held_by_pointer() -> None:
    assert checks.one_of(F, "", ("A", "B")) == checks.one_of_if_set(F, None, ("A", "B")) == []
    assert causes(checks.one_of_if_set(F, "", ("A", "B"))) == [unsupported("f", "", "A", "B")]
    assert causes(checks.required_one_of(F, "", ("A", "B"))) == [required("f")]


def test_stored_addresses_and_blocks_stay_valid() -> None:
    assert checks.ip(F, "010.0.0.1", {"010.0.0.1"}) == checks.cidr(F, "10.0.0.1/8", {"10.0.0.1/8"}) == []
    assert checks.ip(F, "010.0.0.1") != [] != checks.cidr(F, "10.0.0.1/8")


def test_fractions_of_bytes_warn() -> None:
    resources = {"memory": "500m", "cpu": "500m", "storage": "1Gi"}
    assert checks.fraction_warnings(F, resources, ("memory", "storage", "other")) == [
        'f[memory]: fractional byte value "500m" is invalid, must be an integer'
    ]

"""Rules for names and keys: accepted and refused values of each."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.machinery import names

Check = Callable[[str], list[str]]

ACCEPTED: list[tuple[Check, list[str]]] = [
    (names.dns_label_errors, ["a", "my-name", "123-abc", "x" * 63]),
    (names.dns_subdomain_errors, ["a", "example.com", "1.2.3", "a-b.c-d"]),
    (names.dns_1035_label_errors, ["a", "my-name", "abc-123"]),
    (names.qualified_name_errors, ["MyName", "my.name", "example.com/my_name", "a/" + "x" * 63]),
    (names.label_value_errors, ["", "MyValue", "my_value", "12345"]),
    (names.port_name_errors, ["http", "p80", "a-b-c"]),
    (names.env_var_name_errors, ["PATH", "my.env-name", "1st", "with space", "!"]),
    (names.c_identifier_errors, ["a", "_x9"]),
    (names.config_map_key_errors, ["a.txt", ".hidden", "KEY_NAME"]),
    (names.path_segment_errors, ["system:node", "a b"]),
    (names.ip_errors, ["10.9.8.7", "2001:db8::ffff", "0.0.0.0", "2001:DB8:0::1"]),
    (names.canonical_ip_errors, ["10.9.8.7", "2001:db8::ffff"]),
    (names.cidr_errors, ["10.9.8.0/24", "2001:db8::/64", "0.0.0.0/0", "2001:DB8:0::/64"]),
    (names.canonical_cidr_errors, ["10.9.8.0/24", "2001:db8::/64"]),
    (names.wildcard_dns_subdomain_errors, ["*.example.com"]),
    (names.http_header_name_errors, ["X-Header-Name"]),
    (names.percent_errors, ["1%", "93%"]),
    (names.http_path_errors, ["foo", "c/d"]),
]


@pytest.mark.parametrize(("check", "values"), ACCEPTED)
def test_valid_names_are_accepted(check: Check, values: list[str]) -> None:
    assert {value: check(value) for value in values} == {value: [] for value in values}


REFUSED: list[tuple[Check, str, str]] = [
    (names.dns_label_errors, "x" * 64, "must be no more than 63 characters"),
    (names.dns_label_errors, "a.b", "must not contain dots"),
    (
        names.dns_label_errors,
        "My_Name",
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must "
        "start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', "
        "regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    ),
    (
        names.dns_subdomain_errors,
        "-a",
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
        "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
        r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ),
    (
        names.dns_1035_label_errors,
        "1a",
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
        "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
        "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    ),
    (names.port_name_errors, "a--b", "must not contain consecutive hyphens"),
    (names.port_name_errors, "80", "must contain at least one letter (a-z)"),
    (names.env_var_name_errors, "", "environment variable name must be non-empty"),
    (
        names.env_var_name_errors,
        "a=b",
        "a valid environment variable name must consist only of printable ASCII characters other than '='",
    ),
    (names.config_map_key_errors, "..", "must not be '..'"),
    (names.config_map_key_errors, "..a", "must not start with '..'"),
    (names.path_segment_errors, ".", "may not be '.'"),
    (names.path_segment_errors, "a/b", "may not contain '/'"),
    (names.ip_errors, "1.2.3", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
    (names.ip_errors, "fe80::1%eth0", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
    (names.ip_errors, "010.1.1.1", "must not have leading 0s"),
    (names.ip_errors, "::ffff:1.2.3.4", "must not be an IPv4-mapped IPv6 address"),
    (names.canonical_ip_errors, "010.1.1.1", "must not have leading 0s"),
    (names.canonical_ip_errors, "2001:DB8:0::1", 'must be in canonical form ("2001:db8::1")'),
    (names.cidr_errors, "10.0.0.1/8", "must not have bits set beyond the prefix length"),
    (names.cidr_errors, "010.0.0.0/8", "must not have leading 0s in IP or prefix length"),
    (names.cidr_errors, "10.0.0.0/08", "must not have leading 0s in IP or prefix length"),
    (names.cidr_errors, "::ffff:10.0.0.0/104", "must not have an IPv4-mapped IPv6 address"),
    (names.canonical_cidr_errors, "2001:DB8::/64", 'must be in canonical form ("2001:db8::/64")'),
    (names.cidr_errors, "10.0.0.0", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
]


@pytest.mark.parametrize(("check", "value", "error"), REFUSED)
def test_refused_in_kubernetes_words(check: Check, value: str, error: str) -> None:
    assert check(value) == [error]


def test_qualified_name_reports_all_errors() -> None:
    assert names.qualified_name_errors("/") == [
        "prefix part must be non-empty",
        "name part must be non-empty",
        "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
        "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
        "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ]


def test_more_than_one_slash_is_no_label_key() -> None:
    (error,) = names.qualified_name_errors("a/b/c")
    assert error.startswith("a valid label key must consist of")
    assert error.endswith(" with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')")


def test_lengths_are_counted_in_bytes() -> None:
    assert "must be no more than 63 characters" in names.label_value_errors("é" * 40)


def test_a_newline_at_the_end_is_not_overlooked() -> None:
    assert names.dns_label_errors("a\n")
    assert names.label_value_errors("a\n")


@given(st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True))
def test_every_label_is_a_subdomain_and_a_label_value(label: str) -> None:
    assert names.dns_label_errors(label) == []
    assert names.dns_subdomain_errors(label) == []
    assert names.label_value_errors(label) == []
    assert names.qualified_name_errors(f"{label}.example/{label}") == []

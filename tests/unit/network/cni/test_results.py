"""The answers of CNI plugins."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podling.network.cni.results import ResultError, addresses_of, describe_failure, parse_result

INTERFACES = [{"name": "br0"}, {"name": "veth1"}, {"name": "eth0", "sandbox": "/run/ns"}]


@pytest.mark.parametrize(
    ("result", "addresses"),
    [
        ({"ips": [{"address": "10.1.0.5/24"}]}, ("10.1.0.5",)),
        ({"interfaces": INTERFACES, "ips": [{"address": "10.1.0.5/24", "interface": 2}]}, ("10.1.0.5",)),
        (
            {
                "interfaces": INTERFACES,
                "ips": [
                    {"address": "10.1.0.1/24", "interface": 0},
                    {"address": "fd00::5/64", "interface": 2},
                    {"address": "10.1.0.5/24", "interface": 2},
                ],
            },
            ("fd00::5", "10.1.0.5"),
        ),
    ],
)
def test_addresses_of_the_pods_interface_count(result: dict[str, Any], addresses: tuple[str, ...]) -> None:
    assert addresses_of(result, "eth0") == addresses


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"ips": []},
        {"ips": None},
        {"ips": [{"address": "nonsense"}]},
        {"ips": [{}]},
        {"ips": ["10.1.0.5/24"]},
        {"ips": [{"address": "10.1.0.5/24", "interface": 7}]},
        {"interfaces": INTERFACES, "ips": [{"address": "10.1.0.5/24", "interface": 0}]},
    ],
)
def test_result_without_an_address_of_the_pod_is_refused(result: dict[str, Any]) -> None:
    with pytest.raises(ResultError):
        addresses_of(result, "eth0")


@pytest.mark.parametrize("output", [b"", b"not JSON", b"[]", b"\xff"])
def test_answer_that_is_no_object_is_refused(output: bytes) -> None:
    with pytest.raises(ResultError):
        parse_result(output)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"code": 11, "msg": "busy"}, "busy (CNI error 11, try again later)"),
        ({"code": 11}, "try again later (CNI error 11)"),
        ({"code": 100, "msg": "no more", "details": "of 10.1"}, "no more: of 10.1 (CNI error 100)"),
    ],
)
def test_error_of_a_plugin_is_described_in_words(answer: dict[str, Any], text: str) -> None:
    assert describe_failure(1, json.dumps(answer).encode(), "") == text


@pytest.mark.parametrize(
    ("output", "errors", "text"),
    [(b"broken\n", "", "broken"), (b"", "panic: x", "panic: x"), (b"", "", "exit code 2")],
)
def test_plugin_that_fails_without_an_error_object_is_quoted(output: bytes, errors: str, text: str) -> None:
    assert describe_failure(2, output, errors) == text

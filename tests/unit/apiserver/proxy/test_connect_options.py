"""Options of connections: read from the URL for admission, and written back."""

from __future__ import annotations

from typing import Any

import pytest
from multidict import MultiDict
from yarl import URL

from podling.apiserver.http.resource_paths import parse_path
from podling.apiserver.proxy.connect_options import connect_options, encoded, query_of
from podling.machinery.errors import ApiError

POD = "/api/v1/namespaces/default/pods/p"


def options(url: str) -> dict[str, Any]:
    asked = URL(url)
    parsed = parse_path(asked.path)
    assert parsed is not None
    return connect_options(parsed, asked.query, asked.path)


@pytest.mark.parametrize(
    ("url", "kind", "rest"),
    [
        (
            f"{POD}/exec?container=c&command=sh&command=-c&stdin=true&tty=false",
            "PodExecOptions",
            {"container": "c", "command": ["sh", "-c"], "stdin": True},
        ),
        (f"{POD}/attach?stdout=1", "PodAttachOptions", {"stdout": True}),
        (f"{POD}/portforward", "PodPortForwardOptions", {}),
        (f"{POD}/portforward?ports=80&ports=81", "PodPortForwardOptions", {"ports": [80, 81]}),
        (f"{POD}/proxy", "PodProxyOptions", {}),
        (f"{POD}/proxy/", "PodProxyOptions", {"path": "/"}),
        (f"{POD}/proxy/a/b?x=y", "PodProxyOptions", {"path": "/a/b"}),
        ("/api/v1/namespaces/default/services/s:80/proxy/a/", "ServiceProxyOptions", {"path": "/a/"}),
        ("/api/v1/nodes/n/proxy/metrics", "NodeProxyOptions", {"path": "/metrics"}),
    ],
)
def test_url_becomes_options_of_its_kind(url: str, kind: str, rest: dict[str, Any]) -> None:
    assert options(url) == {"kind": kind, "apiVersion": "v1", **rest}


@pytest.mark.parametrize(
    ("query", "ports"),
    [
        ("ports=1234,1235", [1234, 1235]),
        ("ports=1234&ports=1235", [1234, 1235]),
        ("ports=80,443&ports=8080", [80, 443, 8080]),
        ("ports=0", [0]),
        ("ports=0080", [80]),
        ("ports=65535", [65535]),
    ],
)
def test_ports_may_be_lists_or_repeated(query: str, ports: list[int]) -> None:
    assert options(f"{POD}/portforward?{query}")["ports"] == ports


@pytest.mark.parametrize(
    ("text", "parsed", "problem"),
    [
        ("http", "http", "invalid syntax"),
        ("80,", "", "invalid syntax"),
        ("", "", "invalid syntax"),
        ("-1", "-1", "invalid syntax"),
        ("%2B80", "+80", "invalid syntax"),
        ("80, 81", " 81", "invalid syntax"),
        ("1_0", "1_0", "invalid syntax"),
        ("%C2%B2", "²", "invalid syntax"),
        ("65536", "65536", "value out of range"),
        ("9" * 5000, "9" * 5000, "value out of range"),
    ],
)
def test_wrong_ports_are_refused_with_upstreams_message(text: str, parsed: str, problem: str) -> None:
    with pytest.raises(ApiError) as refused:
        options(f"{POD}/portforward?ports={text}")
    message = f'cannot convert to []int32: strconv.ParseUint: parsing "{parsed}": {problem}'
    assert (refused.value.code, str(refused.value)) == (400, message)


def test_kubelet_gets_ports_under_its_own_parameter() -> None:
    query = query_of(options(f"{POD}/portforward?ports=80,443&ports=8080&port=22"))
    assert encoded(query) == "port=80%2C443%2C8080"


def test_parameters_of_the_kubelet_are_dropped() -> None:
    url = f"{POD}/exec?command=sh&stdout=1&input=1&error=1&port=22&other=a"
    assert query_of(options(url)) == MultiDict([("stdout", "true"), ("command", "sh")])


def test_options_become_a_query_again() -> None:
    url = URL(f"{POD}/exec?container=c&command=echo&command=a%20b&stdin=true")
    query = query_of(options(str(url)))
    assert query == MultiDict(
        [("stdin", "true"), ("container", "c"), ("command", "echo"), ("command", "a b")]
    )
    assert encoded(query) == "stdin=true&container=c&command=echo&command=a+b"

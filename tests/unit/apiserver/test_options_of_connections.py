"""From the URL of a connection to the options that admission sees, and back."""

from __future__ import annotations

from typing import Any

import pytest
from multidict import MultiDict
from yarl import URL

from podling.apiserver.connect_options import connect_options, encoded, query_of
from podling.apiserver.requests import parse_path
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
def test_what_a_connection_asks_for(url: str, kind: str, rest: dict[str, Any]) -> None:
    assert options(url) == {"kind": kind, "apiVersion": "v1", **rest}


def test_a_port_is_a_number() -> None:
    with pytest.raises(ApiError, match="invalid syntax"):
        options(f"{POD}/portforward?ports=http")


def test_options_become_a_query_again() -> None:
    url = URL(f"{POD}/exec?container=c&command=echo&command=a%20b&stdin=true")
    query = query_of(options(str(url)))
    assert query == MultiDict(
        [("stdin", "true"), ("container", "c"), ("command", "echo"), ("command", "a b")]
    )
    assert encoded(query) == "stdin=true&container=c&command=echo&command=a+b"

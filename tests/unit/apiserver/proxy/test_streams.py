"""The URL of a kubelet, and its error answers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
import pytest

from podling.api.core_v1 import Node
from podling.apiserver.proxy.streams import kubelet_url, refusal
from podling.machinery.errors import ApiError, not_found
from tests.support.manifests import obj


def node(addresses: str, port: int = 10250) -> Node:
    made: Node = obj(
        Node,
        f"""
        metadata: {{name: n1}}
        status: {{addresses: [{addresses}], daemonEndpoints: {{kubeletEndpoint: {{Port: {port}}}}}}}
        """,
    )
    return made


INTERNAL = "{type: InternalIP, address: 10.0.0.1}"
HOSTNAME = "{type: Hostname, address: n1.example.com}"
EXTERNAL = "{type: ExternalIP, address: 192.0.2.1}"


@pytest.mark.parametrize(
    ("addresses", "url"),
    [
        (f"{EXTERNAL}, {HOSTNAME}, {INTERNAL}", "https://10.0.0.1:10250"),
        (f"{EXTERNAL}, {HOSTNAME}", "https://n1.example.com:10250"),
        (EXTERNAL, "https://192.0.2.1:10250"),
        (f"{INTERNAL}, {{type: InternalIP, address: 10.0.0.2}}", "https://10.0.0.1:10250"),
        ('{type: InternalIP, address: "fd00::1"}', "https://[fd00::1]:10250"),
    ],
)
def test_kubelet_has_the_preferred_address_of_its_node(addresses: str, url: str) -> None:
    assert kubelet_url(node(addresses)) == url


@pytest.mark.parametrize("given", [node(""), node(INTERNAL, port=0), Node()])
def test_node_without_an_address_is_unavailable(given: Node) -> None:
    with pytest.raises(ApiError) as error:
        kubelet_url(given)
    assert error.value.code == 503


class Answered:
    """A kubelet's answer in two pieces."""

    def __init__(self, status: int, body: bytes) -> None:
        self.status, self._body = status, body
        self.headers: dict[str, str] = {}
        self.closed = False

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self._body[:5]
        yield self._body[5:]

    async def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(
    ("status", "body", "reason", "message"),
    [
        (400, b"bad container\n", "BadRequest", "bad container"),
        (403, b"no", "Forbidden", "no"),
        (404, b"no log", "NotFound", "no log"),
        (502, b"", "InternalError", "the kubelet answered 502"),
    ],
)
async def test_text_of_a_kubelet_becomes_an_error(
    status: int, body: bytes, reason: str, message: str
) -> None:
    answer = Answered(status, body)
    error = await refusal(answer)
    assert (error.code, error.reason, str(error)) == (status, reason, message)
    assert answer.closed


async def test_status_of_a_kubelet_is_passed_on() -> None:
    given = not_found("pods", "", "p").status
    error = await refusal(Answered(404, msgspec.json.encode(given)))
    assert error.status == given

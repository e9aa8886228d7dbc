"""Bearer tokens in WebSocket subprotocols: the cases of upstream's ``protocol_test.go`` and a few more."""

from __future__ import annotations

import base64

import pytest
from aiohttp.test_utils import make_mocked_request

from podling.apiserver.http.websocket_tokens import PREFIX, split_token, with_bearer_token
from podling.machinery.errors import ApiError

TOKEN = PREFIX + base64.urlsafe_b64encode(b"good?>~").decode().rstrip("=")


@pytest.mark.parametrize(
    ("offered", "token", "others"),
    [
        ([], "", []),
        (["a", "b"], "", ["a", "b"]),
        ([TOKEN, "a"], "good?>~", ["a"]),
        (["a", TOKEN, "b"], "good?>~", ["a", "b"]),
        ([PREFIX, "a"], "", ["a"]),
        ([PREFIX], "", []),
    ],
)
def test_token_is_split_from_other_subprotocols(offered: list[str], token: str, others: list[str]) -> None:
    assert split_token(offered) == (token, others)


@pytest.mark.parametrize(
    "offered",
    [
        [TOKEN],
        [TOKEN, TOKEN, "a"],
        [PREFIX + "/wAA", "a"],
        [PREFIX + "_w", "a"],
        [PREFIX + "Z29vZA==", "a"],
        [PREFIX + "a", "b"],
        [PREFIX + "Z29 vZA", "b"],
        [PREFIX + "\xff", "b"],
    ],
)
def test_malformed_tokens_are_refused(offered: list[str]) -> None:
    with pytest.raises(ApiError) as refused:
        split_token(offered)
    assert refused.value.code == 401


def websocket_headers(*protocols: str, **more: str) -> dict[str, str]:
    head = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Protocol": ", ".join(protocols)}
    return head | more


def test_token_becomes_the_authorization_and_goes_no_further() -> None:
    request = with_bearer_token(make_mocked_request("GET", "/", websocket_headers("a", TOKEN, "b")))  # type: ignore[arg-type]
    assert request.headers["Authorization"] == "Bearer good?>~"
    assert request.headers["Sec-WebSocket-Protocol"] == "a, b"


def test_authorization_header_wins_over_the_subprotocol() -> None:
    headers = websocket_headers(TOKEN, "a", Authorization="Bearer other")
    request = with_bearer_token(make_mocked_request("GET", "/", headers))  # type: ignore[arg-type]
    assert request.headers.getall("Authorization") == ["Bearer other"]
    assert request.headers["Sec-WebSocket-Protocol"] == "a"


def test_requests_for_other_upgrades_stay_as_they_are() -> None:
    headers = websocket_headers(TOKEN, "a", Upgrade="SPDY/3.1")
    request = make_mocked_request("GET", "/", headers)
    assert with_bearer_token(request) is request  # type: ignore[arg-type]

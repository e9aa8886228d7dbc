"""Negotiation of the protocol in a SPDY upgrade."""

from __future__ import annotations

import pytest

from podling.kubelet.server.spdy_upgrade import SPDY_VERSIONS, negotiate
from podling.machinery.errors import ApiError


@pytest.mark.parametrize(
    ("offered", "expected"),
    [
        (["v4.channel.k8s.io", "v3.channel.k8s.io"], "v4.channel.k8s.io"),
        (["v9.channel.k8s.io", "channel.k8s.io"], "channel.k8s.io"),
        ([], ""),
    ],
)
def test_first_supported_protocol_of_the_client_is_selected(offered: list[str], expected: str) -> None:
    assert negotiate(offered, tuple(SPDY_VERSIONS)) == expected


def test_upgrade_without_a_common_protocol_is_refused() -> None:
    with pytest.raises(ApiError, match="unable to negotiate protocol: client supports") as caught:
        negotiate(["portforward.k8s.io"], tuple(SPDY_VERSIONS))
    assert caught.value.code == 403

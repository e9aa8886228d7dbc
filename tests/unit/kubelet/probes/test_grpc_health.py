"""Messages of the gRPC health check."""

from __future__ import annotations

import pytest

from podling.kubelet.probes.grpc_health import decode_response, encode_request


def test_grpc_messages_are_encoded_and_decoded() -> None:
    assert encode_request("") == b""
    assert encode_request("live") == b"\x0a\x04live"
    assert [decode_response(data) for data in (b"", b"\x08\x01", b"\x08\x02", b"\x08\x80\x01")] == [
        0,
        1,
        2,
        128,
    ]
    with pytest.raises(ValueError, match="not a health"):
        decode_response(b"hello")

"""Messages about runtime calls without an answer."""

from __future__ import annotations

from datetime import UTC, datetime

from podling.kubelet.status.slow_calls import slow_call, slow_message


def test_slow_message_is_read_back() -> None:
    since = datetime(2026, 1, 1, 12, 30, tzinfo=UTC)
    message = slow_message("CreateContainer", since)
    assert message == "the container runtime has not answered CreateContainer since 2026-01-01T12:30:00Z"
    assert slow_call(f"earlier failure; {message}") == ("CreateContainer", since)
    assert slow_call("another message") is None

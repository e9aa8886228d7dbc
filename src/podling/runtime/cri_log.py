"""The CRI log format: ``2026-01-01T00:00:00.000000000Z stdout F text``, one record a line.

The third field is ``F`` when the record ends a line of the container's output and ``P`` when the
line goes on in the next record of the same stream. Times have nanoseconds, in UTC.
Source: the kubelet's CRI logging design; written here, parsed in ``podling.kubelet.server.logs``.
"""

from __future__ import annotations

from datetime import datetime


def timestamp(at: datetime) -> str:
    """``at`` (aware UTC) in RFC 3339 with nine digits of fraction, as CRI logs carry it."""
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond:06d}000Z"


def format_line(at: datetime, stream: str, text: bytes, *, partial: bool = False) -> bytes:
    """One record; ``text`` is what was written, without its newline."""
    head = f"{timestamp(at)} {stream} {'P' if partial else 'F'} "
    return head.encode() + text + b"\n"

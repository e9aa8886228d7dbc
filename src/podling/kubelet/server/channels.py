"""The framing of ``exec``, ``attach`` and port-forward over WebSocket. Pure.

Each message is one byte of channel and then data (``k8s.io/streaming`` wsstream, apimachinery
``util/remotecommand``). Versions of the protocol differ in what the error channel says and in
half-closing; base64 variants write the channel as a digit and the data in base64.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from podling.api.meta_v1 import Status, StatusCause, StatusDetails
from podling.machinery.encoding.status_json import status_json
from podling.streaming.websocket import NORMAL, Part, WebSocketError

STDIN: Final = 0
STDOUT: Final = 1
STDERR: Final = 2
ERROR: Final = 3
RESIZE: Final = 4
CLOSE: Final = 255
"""From version 5 on: the other byte names a channel that its sender has closed."""

DROPPED: Final = -1
"""The channel of a message without meaning."""
SMALL_MAX: Final = 1024
"""The limit of bytes of a terminal's size, which is read as one message."""

NON_ZERO_EXIT: Final = "NonZeroExitCode"


class Channels(Struct, frozen=True):
    """One version of the protocol."""

    name: str
    version: int
    base64: bool = False

    def encode(self, channel: int, data: bytes = b"") -> bytes:
        if self.base64:
            return str(channel).encode() + base64.b64encode(data)
        return bytes((channel,)) + data


class ChannelReader:
    """Reads one client's messages, part by part.

    A message without a meaning is dropped, as the reference server does (``wsstream.Conn.handle``); only a
    malformed close signal ends the connection.

    Args:
        whole: channels whose messages must not be split; larger ones than ``SMALL_MAX`` are dropped.
    """

    def __init__(self, protocol: Channels, whole: frozenset[int] = frozenset()) -> None:
        self._protocol = protocol
        self._whole = whole
        self._channel = DROPPED
        self._quantum = b""
        """Base64 characters short of a group of four."""
        self._small = b""
        """The beginning of a terminal's size or a close signal."""

    def read(self, part: Part) -> list[tuple[int, bytes | None]]:
        """Return channels and their data; None for data: the client has closed the channel.

        Raises ``WebSocketError``.
        """
        data = part.data
        if part.first:
            self._quantum = self._small = b""
            self._channel = data[0] - ord("0") * self._protocol.base64 if data else DROPPED
            data = data[1:]
        if self._protocol.base64:
            data = self._decode(data)
        if self._channel in self._whole or (self._channel == CLOSE and self._protocol.version >= 5):
            return self._read_small(data, last=part.last)
        return [(self._channel, data)] if data and self._channel >= 0 else []

    def _decode(self, data: bytes) -> bytes:
        """Return the data of complete base64 groups; after an error the rest of the message is dropped."""
        text = self._quantum + data
        whole = len(text) // 4 * 4
        self._quantum = text[whole:]
        try:
            return base64.b64decode(text[:whole], validate=True)
        except binascii.Error:
            self._channel = DROPPED
            return b""

    def _read_small(self, data: bytes, *, last: bool) -> list[tuple[int, bytes | None]]:
        self._small = (self._small + data)[: SMALL_MAX + 1]
        if not last:
            return []
        if self._channel in self._whole:
            return [(self._channel, self._small)] if 0 < len(self._small) <= SMALL_MAX else []
        if len(self._small) != 1:
            raise WebSocketError(NORMAL, "a close signal does not name one channel")
        return [(self._small[0], None)]


PROTOCOLS: Final = (
    Channels("v5.channel.k8s.io", 5),
    Channels("v4.channel.k8s.io", 4),
    Channels("v4.base64.channel.k8s.io", 4, base64=True),
    Channels("channel.k8s.io", 1),
    Channels("base64.channel.k8s.io", 1, base64=True),
)
"""The server's protocols, in order of preference."""
BY_NAME: Final = {protocol.name: protocol for protocol in PROTOCOLS}
UNNAMED: Final = Channels("", 1)
"""The protocol of a client that offers none."""


def parse_resize(data: bytes) -> tuple[int, int]:
    """Return columns and rows of ``{"Width": 80, "Height": 24}``. Raises ``ValueError``."""
    size = msgspec.json.decode(data, type=dict[str, int])
    try:
        columns, rows = size["Width"], size["Height"]
    except KeyError as error:
        raise ValueError(f"a size needs {error}") from None
    if not (0 <= columns < 1 << 16 and 0 <= rows < 1 << 16):
        raise ValueError("a size is two unsigned numbers of 16 bits")
    return columns, rows


def exit_status(code: int, command: Sequence[str]) -> Status:
    """Return the status of an ended command: success, or failure with its exit code as a cause."""
    if code == 0:
        return Status(status="Success")
    cause = StatusCause(reason="ExitCode", message=str(code))
    why = f"error executing command [{' '.join(command)}], exit code {code}"
    return Status(
        status="Failure",
        reason=NON_ZERO_EXIT,
        message=f"command terminated with non-zero exit code: {why}",
        details=StatusDetails(causes=(cause,)),
    )


def failure_status(text: str) -> Status:
    """Return the status of an internal failure (apimachinery ``NewInternalError``)."""
    return Status(
        status="Failure",
        reason="InternalError",
        message=f"Internal error occurred: {text}",
        details=StatusDetails(causes=(StatusCause(message=text),)),
        code=500,
    )


def status_payload(version: int, status: Status) -> bytes:
    """Return the error channel's payload: from version 4 on the ``Status``, before only a failure's text."""
    if version >= 4:
        return status_json(status, typed=False)
    return b"" if status.status == "Success" else (status.message or "").encode()

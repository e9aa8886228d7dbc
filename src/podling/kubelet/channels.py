"""The framing of ``exec``, ``attach`` and port-forward over WebSocket: pure.

Each message is one byte of channel and then data (``k8s.io/streaming`` wsstream, apimachinery
``util/remotecommand``). Versions of the protocol differ in what the error channel says and in
half-closing; base64 variants write the channel as a digit and the data in base64.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from podling.api.meta_v1 import Status, StatusCause, StatusDetails

STDIN: Final = 0
STDOUT: Final = 1
STDERR: Final = 2
ERROR: Final = 3
RESIZE: Final = 4
CLOSE: Final = 255
"""From version 5 on: the other byte names a channel that its sender is done with."""

NON_ZERO_EXIT: Final = "NonZeroExitCode"


@dataclass(frozen=True, slots=True)
class Channels:
    """One version of the protocol."""

    name: str
    version: int
    base64: bool = False

    def encode(self, channel: int, data: bytes = b"") -> bytes:
        if self.base64:
            return str(channel).encode() + base64.b64encode(data)
        return bytes((channel,)) + data

    def decode(self, message: bytes) -> tuple[int, bytes]:
        """Channel and data. Raises ``ValueError`` for what is no frame."""
        if not message:
            raise ValueError("empty frame")
        if not self.base64:
            return message[0], message[1:]
        try:
            return int(message[:1]), base64.b64decode(message[1:], validate=True)
        except binascii.Error as error:
            raise ValueError(str(error)) from error


PROTOCOLS: Final = (
    Channels("v5.channel.k8s.io", 5),
    Channels("v4.channel.k8s.io", 4),
    Channels("v4.base64.channel.k8s.io", 4, base64=True),
    Channels("channel.k8s.io", 1),
    Channels("base64.channel.k8s.io", 1, base64=True),
)
"""Best first."""
BY_NAME: Final = {protocol.name: protocol for protocol in PROTOCOLS}
UNNAMED: Final = Channels("", 1)
"""What a client speaks that offers no protocol."""


def parse_resize(data: bytes) -> tuple[int, int]:
    """Columns and rows of ``{"Width": 80, "Height": 24}``. Raises ``ValueError``."""
    size = msgspec.json.decode(data, type=dict[str, int])
    try:
        return size["Width"], size["Height"]
    except KeyError as error:
        raise ValueError(f"a size needs {error}") from None


def exit_status(code: int, command: Sequence[str]) -> Status:
    """How a command ended: success, or failure with its exit code as a cause."""
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
    """What went wrong on our side (apimachinery ``NewInternalError``)."""
    return Status(
        status="Failure",
        reason="InternalError",
        message=f"Internal error occurred: {text}",
        details=StatusDetails(causes=(StatusCause(message=text),)),
        code=500,
    )


def status_payload(version: int, status: Status) -> bytes:
    """What goes out on the error channel: from version 4 on the ``Status``, before only a failure's text."""
    if version >= 4:
        return msgspec.json.encode(status)
    return b"" if status.status == "Success" else (status.message or "").encode()

"""Reports of a part's process to the supervisor, through a pipe: signs of life, steps of the start, its end.

The pipe never blocks its writer: where the supervisor does not read, as when it is stopped, reports are lost,
and the parts run on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from podling import clock
from podling.cluster.processes.states import SIGN_SECONDS

READ_BYTES = 65536


class Alive(Struct, frozen=True, tag=True):
    """A sign of life."""


class Step(Struct, frozen=True, tag=True):
    """A finished step of the start, for people."""

    name: str
    detail: str = ""


class Started(Struct, frozen=True, tag=True):
    """The part serves. ``port`` and ``kubeconfig`` are those of the API server."""

    port: int = 0
    kubeconfig: str = ""


class Ready(Struct, frozen=True, tag=True):
    """All nodes of the part are Ready."""


class Failed(Struct, frozen=True, tag=True):
    """The part cannot start; the text says why and what to do."""

    text: str


Report = Alive | Step | Started | Ready | Failed

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Report)


class Reporter:
    """Writes reports to the pipe ``descriptor``."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor

    def send(self, report: Report) -> None:
        """Write a report, or lose it where the pipe is full or closed."""
        try:
            os.write(self._descriptor, _encoder.encode(report) + b"\n")
        except (BlockingIOError, BrokenPipeError):
            return

    def step(self, name: str, detail: str = "") -> None:
        self.send(Step(name, detail))

    async def keep_alive(self) -> None:
        """Give signs of life from the event loop until cancelled: a loop that hangs gives none."""
        while True:
            self.send(Alive())
            await clock.sleep(SIGN_SECONDS)


class ReportReader:
    """Reads the reports of one process."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self.descriptor = descriptor
        self._rest = b""

    def read(self) -> Iterator[Report]:
        """Yield the whole reports that have come."""
        while True:
            try:
                data = os.read(self.descriptor, READ_BYTES)
            except BlockingIOError:
                return
            if not data:
                return
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                yield _decoder.decode(line)

    def close(self) -> None:
        os.close(self.descriptor)

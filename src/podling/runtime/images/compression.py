"""Compressed streams of images: recognised by their first bytes, decompressed as they are read.

Memory is bounded for any stream: deflate and bzip2 have small windows, those of xz and zstd are
limited.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import shutil
import subprocess
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, BinaryIO, Protocol, cast

from podling.runtime.failures import ImageFailure

WINDOW_BYTES_MAX = 128 << 20
"""The largest window of zstd and xz: that of the programs' own highest levels. zstd refuses larger ones by
default, too."""

_CHUNK = 1 << 16
_ERROR_BYTES_MAX = 1000


class Source(Protocol):
    """Something to read bytes from."""

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes; fewer only at the end."""
        ...


@contextmanager
def decompressed(stream: BinaryIO) -> Iterator[Source]:
    """The content of ``stream`` without its compression.

    Raises ``ImageFailure`` here and, as the readers inside do, for content that is broken or needs too much
    memory.
    """
    buffered = (
        stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, stream))
    )
    head = buffered.peek(6)[:6]
    with _broken():
        if head.startswith(b"\x28\xb5\x2f\xfd"):
            with _zstd(buffered) as plain:
                yield plain
        else:
            yield _by_library(head, buffered)


def is_compressed(stream: io.BufferedReader) -> bool:
    """Return whether ``decompressed`` would change the stream's content."""
    head = stream.peek(6)[:6]
    return head.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd"))


@contextmanager
def _broken() -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise ImageFailure(f"a layer of the image is broken: {error}") from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise ImageFailure(f"a layer of the image is broken: {error}") from error  # gzip and bz2 say so


def _by_library(head: bytes, stream: io.BufferedReader) -> Source:
    if head.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=stream))
    if head.startswith(b"BZh"):
        return cast("IO[bytes]", bz2.BZ2File(stream))
    if head.startswith(b"\xfd7zXZ"):
        return io.BufferedReader(_Xz(stream), _CHUNK)
    return stream


class _Xz(io.RawIOBase):
    """xz with a limit of memory, which ``lzma.LZMAFile`` does not offer."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._current: lzma.LZMADecompressor | None = _new_xz()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        while self._current is not None:
            if self._current.eof:
                self._next(self._current.unused_data)
                continue
            fresh = self._stream.read(_CHUNK) if self._current.needs_input else b""
            if self._current.needs_input and not fresh:
                raise EOFError("the compressed content ends too early")
            data = self._current.decompress(fresh, len(buffer))
            if data:
                buffer[: len(data)] = data
                return len(data)
        return 0

    def _next(self, rest: bytes) -> None:
        """Go on with the stream that follows, after the padding of zeros that may stand between."""
        while not (rest := rest.lstrip(b"\0")):
            rest = self._stream.read(_CHUNK)
            if not rest:
                self._current = None
                return
        self._current = _new_xz()
        self._stream = cast(BinaryIO, _After(rest, self._stream))


def _new_xz() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=WINDOW_BYTES_MAX)


class _After:
    """``first``, then what ``stream`` holds."""

    def __init__(self, first: bytes, stream: BinaryIO) -> None:
        self._first = first
        self._stream = stream

    def read(self, size: int) -> bytes:
        if self._first:
            data, self._first = self._first[:size], self._first[size:]
            return data
        return self._stream.read(size)


@contextmanager
def _zstd(stream: BinaryIO) -> Iterator[Source]:
    """Run the zstd program between two pipes: one window is in memory, the content is not."""
    program = shutil.which("zstd")
    if program is None:
        raise ImageFailure("the image is compressed with zstd, and the zstd program is not installed")
    process = subprocess.Popen(
        [program, "-q", "-d", "-c", f"--memory={WINDOW_BYTES_MAX >> 20}MiB"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    feeder = threading.Thread(target=_feed, args=(stream, process), name="zstd-feeder", daemon=True)
    feeder.start()
    try:
        yield _Zstd(process)
    finally:
        process.kill()
        process.wait()
        feeder.join()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


def _feed(stream: BinaryIO, process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with suppress(OSError, ValueError), process.stdin as pipe:  # it ended early, and says itself why
        shutil.copyfileobj(stream, pipe, _CHUNK)


class _Zstd:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def read(self, size: int, /) -> bytes:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        data = self._process.stdout.read(size)
        if len(data) < size and self._process.wait() != 0:
            said = self._process.stderr.read(_ERROR_BYTES_MAX).decode(errors="replace").strip()
            raise ImageFailure(f"a layer of the image is broken: {said}")
        return data

"""Compression of answers: the pieces make one gzip file, and large ones are compressed beside the loop."""

from __future__ import annotations

import asyncio
import gzip
import threading
from typing import Any

import pytest

from podling.apiserver.http.compression import GZIP_FROM_BYTES, Gzip

pytestmark = pytest.mark.asyncio(loop_factories=["real"])

LARGE = b"x" * GZIP_FROM_BYTES


@pytest.mark.parametrize("pieces", [[], [b""], [b"a", b"", b"b"], [LARGE], [LARGE, b"a", LARGE, LARGE]])
async def test_pieces_make_one_file(pieces: list[bytes]) -> None:
    made = Gzip()
    found = [await made.add(piece) for piece in pieces]
    found.append(await made.end(b"end"))
    assert gzip.decompress(b"".join(found)) == b"".join([*pieces, b"end"])


async def test_large_pieces_of_many_answers_are_compressed_in_one_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[threading.Thread] = []

    class Noting:
        def compress(self, piece: bytes) -> bytes:
            threads.append(threading.current_thread())
            return piece

    def noting(*_: Any) -> Noting:
        return Noting()

    monkeypatch.setattr("zlib.compressobj", noting)
    await asyncio.gather(*(Gzip().add(LARGE) for _ in range(20)))
    assert (len(threads), len(set(threads))) == (20, 1)
    assert threads[0] is not threading.current_thread()
    await Gzip().add(b"small")
    assert threads[-1] is threading.current_thread()

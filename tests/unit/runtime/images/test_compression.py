"""Compressed streams: read as they come, in bounded memory."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import shutil
import subprocess
import sys
import tarfile
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from podling.runtime.failures import ImageFailure
from podling.runtime.images.compression import decompressed

CONTENT = hashlib.shake_128(b"noise").digest(300_000) + bytes(3_000_000)


def zstd(data: bytes, *options: str) -> bytes:
    if not shutil.which("zstd"):
        pytest.skip("needs zstd")
    return subprocess.run(["zstd", "-q", "-c", *options], input=data, capture_output=True, check=True).stdout


COMPRESSIONS: list[Callable[[bytes], bytes]] = [bytes, gzip.compress, bz2.compress, lzma.compress, zstd]


@pytest.mark.parametrize("compress", COMPRESSIONS)
@pytest.mark.parametrize("parts", [1, 3])
def test_content_comes_back(compress: Callable[[bytes], bytes], parts: int) -> None:
    packed = compress(CONTENT) * parts
    with decompressed(io.BytesIO(packed)) as plain:
        found = b"".join(iter(lambda: plain.read(70_001), b""))
    assert found == CONTENT * parts


@pytest.mark.parametrize("compress", COMPRESSIONS[1:])
def test_content_cut_off_is_refused(compress: Callable[[bytes], bytes]) -> None:
    packed = compress(CONTENT)[:-20]
    with pytest.raises(ImageFailure, match="broken"), decompressed(io.BytesIO(packed)) as plain:
        while plain.read(1 << 16):
            pass


@pytest.mark.parametrize("compress", COMPRESSIONS[1:])
def test_damaged_content_is_refused(compress: Callable[[bytes], bytes]) -> None:
    packed = bytearray(compress(CONTENT))
    packed[100:200] = bytes(100)
    with pytest.raises(ImageFailure, match="broken"), decompressed(io.BytesIO(packed)) as plain:
        while plain.read(1 << 16):
            pass


def test_reading_may_stop_early() -> None:
    with decompressed(io.BytesIO(zstd(bytes(50_000_000)))) as plain:
        assert plain.read(10) == bytes(10)


def test_windows_of_zstd_are_bounded() -> None:
    """A frame of one raw block that announces a window of 2 GB (RFC 8878, 3.1.1.1.2)."""
    frame = b"\x28\xb5\x2f\xfd" + bytes([0, (31 - 10) << 3]) + (1 | 4 << 3).to_bytes(3, "little") + b"data"
    zstd(b"")  # skips where there is no such program
    with pytest.raises(ImageFailure, match="memory"), decompressed(io.BytesIO(frame)) as plain:
        plain.read(1 << 16)


def test_windows_of_xz_are_bounded() -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 512 << 20}]
    packed = lzma.compress(b"x" * 1000, format=lzma.FORMAT_XZ, filters=filters)
    with pytest.raises(ImageFailure, match="Memory usage limit"), decompressed(io.BytesIO(packed)) as plain:
        plain.read(10)


@pytest.mark.parametrize("program", ["zstd", "gzip", "xz"])
def test_unpacking_takes_little_memory(tmp_path: Path, program: str) -> None:
    """In a process of its own, whose peak of memory is its own."""
    if not shutil.which(program):
        pytest.skip(f"needs {program}")
    script = textwrap.dedent("""
        import resource, sys, tarfile
        from pathlib import Path
        from podling.runtime.images.unpack import unpack
        def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        before = peak()
        with open(sys.argv[1], "rb") as layer:
            unpack(layer, Path(sys.argv[2]))
        print(peak() - before)
    """)
    layer = tmp_path / "layer"
    info = tarfile.TarInfo("zeros")
    info.size = 100 << 20
    with layer.open("wb") as file:
        packing = subprocess.Popen([program, "-1", "-c"], stdin=subprocess.PIPE, stdout=file)
        assert packing.stdin is not None
        packing.stdin.write(info.tobuf())
        for _ in range(100):
            packing.stdin.write(bytes(1 << 20))
        packing.communicate(bytes(1024))
    (tmp_path / "out").mkdir()
    ran = subprocess.run(
        [sys.executable, "-c", script, str(layer), str(tmp_path / "out")],
        check=True,
        capture_output=True,
        text=True,
    )
    (tmp_path / "out/zeros").unlink()
    assert int(ran.stdout) < 40

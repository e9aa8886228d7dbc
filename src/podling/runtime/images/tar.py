"""Untrusted tar streams: read once, without recursion, with headers of bounded size.

Knows the forms that image builders write: ustar, GNU's long names and binary numbers, PAX headers, and
sparse files of both. The limits are those of Go's ``archive/tar``, which other runtimes read layers with
(``maxSpecialFileSize``), and further ones against streams that consist of headers only. Python's tarfile has
none: it reads a header of any announced size and follows chains of headers by recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct, field

from podling.runtime.failures import ImageFailure
from podling.runtime.images.compression import Source
from podling.runtime.images.tar_headers import (
    BLOCK_BYTES,
    PAX_LOCAL,
    SPECIAL,
    Extent,
    Header,
    Special,
    check_extents,
    old_sparse,
    pax_sparse,
    read_header,
)

SPECIAL_BYTES_MAX = 1 << 20
"""The most that one PAX header, long name or map of a sparse file may take."""
SPECIALS_IN_A_ROW_MAX = 16
"""The most headers that may describe one entry; no writer uses more than four."""
HEADER_BYTES_MAX = 2 << 30
"""The most that everything but the content of files may take in one archive."""
ENTRIES_MAX = 1_000_000
PATH_BYTES_MAX = 4096
"""PATH_MAX: a longer name names nothing that the kernel could open."""
TRAILER_BYTES_MAX = 64 << 20
"""The most bytes after the end of an archive. Tape writers pad it to 10 kB."""

_CHUNK = 1 << 18


class Entry(Struct, frozen=True):
    """One file, directory or link of an archive."""

    name: str
    kind: bytes
    """The type flag: ``b"0"`` is a regular file, ``b"5"`` a directory."""
    size: int
    """Bytes of content in the archive, holes of a sparse file left out."""
    mode: int = 0o644
    uid: int = 0
    gid: int = 0
    mtime_ns: int = 0
    link: str = ""
    device: tuple[int, int] = (0, 0)
    attributes: dict[str, bytes] = field(default_factory=dict)
    """Extended attributes by name."""
    extents: tuple[Extent, ...] | None = None
    """The offsets of a sparse file's content; None: contiguous."""
    length: int = 0
    """Bytes of the file, holes of a sparse file included."""


class TarStream:
    """Iterates over the entries of ``source``; ``read`` gives the content of the present one.

    Raises ``ImageFailure`` for what is broken or exceeds a limit.
    """

    def __init__(
        self,
        source: Source,
        *,
        header_bytes_max: int = HEADER_BYTES_MAX,
        pass_over: Callable[[int], object] | None = None,
    ) -> None:
        """``pass_over`` leaves out so many bytes of ``source``, where that is quicker than to read them."""
        self._source = source
        self._pass_over = pass_over
        self._left = 0
        self._padding = 0
        self._headers_left = header_bytes_max
        self._entries = 0
        self.position = 0
        """Bytes read so far."""

    def __iter__(self) -> Iterator[Entry]:
        while (entry := self._next()) is not None:
            self._entries += 1
            if self._entries > ENTRIES_MAX:
                raise ImageFailure(f"an archive of the image has more than {ENTRIES_MAX} entries")
            yield entry

    def read(self, size: int) -> bytes:
        """Return up to ``size`` bytes of the present entry's content; empty at its end."""
        data = self._exactly(min(size, self._left))
        self._left -= len(data)
        return data

    def skip(self) -> None:
        """Go to the end of the present entry."""
        if self._pass_over is not None:
            self._pass_over(self._left + self._padding)
            self.position += self._left + self._padding
            self._left = self._padding = 0
            return
        self._headers_left -= self._left + self._padding
        self._check_headers()
        while self._left:
            self.read(_CHUNK)
        self._exactly(self._padding)
        self._padding = 0

    def drain(self) -> None:
        """Read what follows the end of the archive."""
        left = TRAILER_BYTES_MAX
        while data := self._source.read(_CHUNK):
            left -= len(data)
            if left < 0:
                raise ImageFailure("an archive of the image is broken: it goes on behind its end")

    # ---- inside

    def _next(self) -> Entry | None:
        special = Special()
        for _ in range(SPECIALS_IN_A_ROW_MAX):
            self.skip()
            header = self._header()
            if header is None:
                return None
            if header.kind not in SPECIAL:
                return self._entry(header, special)
            self._expect(header.size)
            if header.kind == PAX_LOCAL or header.kind in (b"L", b"K"):
                special.take_in(header.kind, self._special())
        raise ImageFailure("an archive of the image is broken: one entry has too many headers")

    def _header(self) -> Header | None:
        block = self._source.read(BLOCK_BYTES)
        self.position += len(block)
        self._headers_left -= len(block)
        self._check_headers()
        if not block or not any(block):
            return None
        if len(block) < BLOCK_BYTES:
            raise ImageFailure("an archive of the image is broken: it ends within a header")
        return read_header(block)

    def _entry(self, header: Header, special: Special) -> Entry:
        header = special.applied_to(header)
        self._expect(header.size)
        extents, length = None, header.size
        if header.sparse is not None:
            extents, length = old_sparse(header.sparse, self._map_block)
        elif special.is_sparse:
            extents, length = pax_sparse(special, self._map_block)
        if extents is not None:
            check_extents(extents, length, self._left)
        for name in (header.name, header.link):
            if "\0" in name or len(name.encode("utf-8", "surrogateescape")) > PATH_BYTES_MAX:
                raise ImageFailure(f"an archive of the image is broken: the name {name[:100]!r}... is none")
        return Entry(
            name=header.name,
            kind=header.kind,
            size=self._left,
            mode=header.mode,
            uid=header.uid,
            gid=header.gid,
            mtime_ns=header.mtime_ns,
            link=header.link,
            device=header.device,
            attributes=special.attributes,
            extents=extents,
            length=length,
        )

    def _map_block(self, counts: bool) -> bytes:
        """One more block of a sparse file's map; ``counts``: it is part of the content."""
        self._headers_left -= BLOCK_BYTES
        self._check_headers()
        block = self._exactly(BLOCK_BYTES)
        if counts:
            if self._left < BLOCK_BYTES:
                raise ImageFailure("an archive of the image is broken: a sparse file's map is cut off")
            self._left -= BLOCK_BYTES
        return block

    def _expect(self, size: int) -> None:
        self._left, self._padding = size, -size % BLOCK_BYTES

    def _special(self) -> bytes:
        if self._left > SPECIAL_BYTES_MAX:
            raise ImageFailure(
                f"an archive of the image is broken: a header of {self._left} bytes is too long "
                f"(at most {SPECIAL_BYTES_MAX})"
            )
        self._headers_left -= self._left
        self._check_headers()
        data = self._exactly(self._left)
        self._left = 0
        return data

    def _check_headers(self) -> None:
        if self._headers_left < 0:
            raise ImageFailure("an archive of the image is broken: it has too many bytes that are no files")

    def _exactly(self, size: int) -> bytes:
        data = self._source.read(size) if size else b""
        if len(data) != size:
            raise ImageFailure("an archive of the image is broken: it ends within an entry")
        self.position += size
        return data

"""The headers of tar archives, from their bytes to values, every number checked. Pure.

Sources: POSIX.1-2001 (``pax``), GNU tar's manual ("Basic Tar Format", "Sparse Formats"), and for doubtful
cases Go's ``archive/tar``, by which other runtimes read layers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from podling.machinery.numbers import is_number
from podling.runtime.failures import ImageFailure

BLOCK_BYTES = 512

PAX_LOCAL = b"x"
SPECIAL = frozenset((PAX_LOCAL, b"g", b"L", b"K"))
"""Headers that describe the entry behind them; a global one is passed over, as containerd does."""

_WITHOUT_CONTENT = frozenset((b"1", b"2", b"3", b"4", b"5", b"6"))
_REGULAR = frozenset((b"0", b"\0", b"7", b"S"))
_XATTR = "SCHILY.xattr."
_ID_MAX = (1 << 32) - 2
_SIZE_MAX = (1 << 63) - 1
_SECONDS_MAX = 1 << 33
_DEVICE_MAX = (1 << 20) - 1
_LENGTH_DIGITS_MAX = 20

Extent = tuple[int, int]
"""Offset and length."""


class Header(Struct, frozen=True, kw_only=True):
    """One block, with what special headers said of it."""

    name: str
    kind: bytes
    size: int
    mode: int
    uid: int
    gid: int
    mtime_ns: int
    link: str
    device: tuple[int, int]
    sparse: bytes | None = None
    """The block of GNU's old sparse form, with the first pieces of the map."""


def _broken(why: str) -> ImageFailure:
    return ImageFailure(f"an archive of the image is broken: {why}")


def read_header(block: bytes) -> Header:
    """Read one header block. Raises ``ImageFailure``."""
    plain = block[:148] + b" " * 8 + block[156:]
    signed = sum(plain) - 256 * sum(1 for byte in plain if byte > 127)
    if _number(block[148:156]) not in (sum(plain), signed):
        raise _broken("a header's checksum is wrong")
    kind, magic = block[156:157], block[257:265]
    name = _text(block[:100])
    if magic == b"ustar\x0000" and (prefix := _text(block[345:500])):
        name = f"{prefix}/{name}"
    size = 0 if kind in _WITHOUT_CONTENT else _size(_number(block[124:136]))
    return Header(
        name=name,
        kind=b"0" if kind in _REGULAR else kind,
        size=size,
        mode=_number(block[100:108]) & 0o7777,
        uid=_id(_number(block[108:116])),
        gid=_id(_number(block[116:124])),
        mtime_ns=_moment(_number(block[136:148])),
        link=_text(block[157:257]),
        device=(_device(block[329:337]), _device(block[337:345])) if kind in (b"3", b"4") else (0, 0),
        sparse=block if kind == b"S" else None,
    )


def _text(field_: bytes) -> str:
    return field_.partition(b"\0")[0].decode("utf-8", "surrogateescape")


def _number(field_: bytes) -> int:
    """Octal digits between blanks, or with the highest bit set a big-endian number."""
    if field_[0] & 0x80:
        sign = 1 << (8 * len(field_) - 2)
        value = int.from_bytes(field_, "big") & (2 * sign - 1)
        return value - 2 * sign if value & sign else value
    digits = field_.strip(b" \0").partition(b"\0")[0].strip()
    if digits.strip(b"01234567"):
        raise _broken(f"{digits!r} is no number")
    return int(digits or b"0", 8)


def _size(value: int) -> int:
    if not 0 <= value <= _SIZE_MAX:
        raise _broken(f"a size of {value} bytes")
    return value


def _id(value: int) -> int:
    if not 0 <= value <= _ID_MAX:
        raise _broken(f"a file's owner {value} is no user or group")
    return value


def _device(field_: bytes) -> int:
    value = _number(field_)
    if not 0 <= value <= _DEVICE_MAX:
        raise _broken(f"a device of the number {value}")
    return value


def _moment(seconds: int, nanoseconds: int = 0) -> int:
    return min(max(0, seconds), _SECONDS_MAX) * 1_000_000_000 + nanoseconds


@dataclass(slots=True)
class Special:
    """Attributes of an entry from the headers before it."""

    name: str | None = None
    link: str | None = None
    pax: dict[str, bytes] = field(default_factory=dict)
    attributes: dict[str, bytes] = field(default_factory=dict)
    map: list[bytes] = field(default_factory=list)
    """Offsets and lengths of sparse form 0.0, in turns."""

    def take_in(self, kind: bytes, data: bytes) -> None:
        """Note what one header says. Raises ``ImageFailure``."""
        if kind == b"L":
            self.name = _text(data)
        elif kind == b"K":
            self.link = _text(data)
        else:
            for key, value in pax_records(data):
                if key.startswith(_XATTR):
                    self.attributes[key.removeprefix(_XATTR)] = value
                elif key in ("GNU.sparse.offset", "GNU.sparse.numbytes"):
                    self.map.append(value)
                elif key in _KNOWN:
                    self.pax[key] = value

    def applied_to(self, header: Header) -> Header:
        """``header`` with what stands here in place of its own fields. Raises ``ImageFailure``."""
        if not self.pax and self.name is None and self.link is None and not header.name.endswith("/"):
            return header
        pax = self.pax
        name = self.name if self.name is not None else header.name
        link = self.link if self.link is not None else header.link
        name = _path(pax.get("path"), name)
        name = _path(pax.get("GNU.sparse.name"), name)
        kind = b"5" if header.kind == b"0" and name.endswith("/") else header.kind
        size = _size(_pax_number(pax.get("size"), header.size))
        mtime = pax.get("mtime")
        return replace(
            header,
            name=name,
            kind=kind,
            link=_path(pax.get("linkpath"), link),
            size=0 if kind in _WITHOUT_CONTENT else size,
            uid=_id(_pax_number(pax.get("uid"), header.uid)),
            gid=_id(_pax_number(pax.get("gid"), header.gid)),
            mtime_ns=pax_moment(mtime) if mtime else header.mtime_ns,
        )

    @property
    def is_sparse(self) -> bool:
        """True if a PAX header makes the entry sparse."""
        return any(key in self.pax for key in ("GNU.sparse.major", "GNU.sparse.map", "GNU.sparse.size"))


_KNOWN = frozenset(
    (
        "path",
        "linkpath",
        "size",
        "uid",
        "gid",
        "mtime",
        "GNU.sparse.major",
        "GNU.sparse.minor",
        "GNU.sparse.name",
        "GNU.sparse.realsize",
        "GNU.sparse.size",
        "GNU.sparse.map",
    )
)


def _path(value: bytes | None, otherwise: str) -> str:
    return value.decode("utf-8", "surrogateescape") if value else otherwise


def _pax_number(value: bytes | None, otherwise: int) -> int:
    return _decimal(value) if value else otherwise


def _decimal(value: bytes) -> int:
    text = value.decode("ascii", "replace")
    if not is_number(text):
        raise _broken(f"{text[:30]!r} is no number")
    return int(text)


def pax_moment(value: bytes) -> int:
    """Nanoseconds of a PAX time: seconds, perhaps negative, perhaps with a fraction."""
    whole, _, fraction = value.partition(b".")
    past = whole.startswith(b"-")
    seconds = _decimal(whole[1:] if past else whole)
    if fraction:
        fraction = fraction[:9].ljust(9, b"0")
    return 0 if past else _moment(seconds, _decimal(fraction) if fraction else 0)


def pax_records(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the records ``<length> <key>=<value>\\n`` of a PAX header. Raises ``ImageFailure``."""
    at = 0
    while at < len(data):
        space = data.find(b" ", at, at + _LENGTH_DIGITS_MAX)
        end = at + (_decimal(data[at:space]) if space > at else 0)
        key, equals, value = data[space + 1 : end - 1].partition(b"=")
        if not at < space < end - 1 < len(data) or data[end - 1 : end] != b"\n" or not equals or not key:
            raise _broken("a PAX header is malformed")
        yield key.decode("utf-8", "surrogateescape"), value
        at = end


def check_extents(extents: Sequence[Extent], length: int, stored: int) -> None:
    """Raise ``ImageFailure`` unless the pieces lie in order within the file and make up what is stored."""
    at = total = 0
    for offset, size in extents:
        if offset < at or size < 0 or offset + size > length:
            raise _broken("the map of a sparse file is wrong")
        at, total = offset + size, total + size
    if total != stored:
        raise _broken("the map of a sparse file does not fit its content")


NextBlock = Callable[[bool], bytes]
"""Reads one block more; the argument: whether it is part of the entry's content."""

_MAP_BLOCKS_MAX = 2048
"""A megabyte, as for other headers."""


def old_sparse(block: bytes, next_block: NextBlock) -> tuple[tuple[Extent, ...], int]:
    """Return the map and length of GNU's old form: in the header itself and in blocks behind it."""
    length = _size(_number(block[483:495]))
    found = list(_pieces(block[386:482]))
    more, blocks = block[482], 0
    while more:
        blocks += 1
        if blocks > _MAP_BLOCKS_MAX:
            raise _broken("the map of a sparse file is too long")
        extension = next_block(False)
        found.extend(_pieces(extension[:504]))
        more = extension[504]
    return tuple(found), length


def _pieces(data: bytes) -> Iterator[Extent]:
    for offset, size in struct.iter_unpack("12s12s", data):
        if offset[0] == 0 or size[0] == 0:
            return
        yield _size(_number(offset)), _size(_number(size))


def pax_sparse(special: Special, next_block: NextBlock) -> tuple[tuple[Extent, ...], int]:
    """Return the map and length of GNU's three PAX forms, 0.0, 0.1 and 1.0."""
    pax = special.pax
    length = _size(_decimal(pax.get("GNU.sparse.realsize") or pax.get("GNU.sparse.size") or b"0"))
    if pax.get("GNU.sparse.major") == b"1":
        numbers = _map_in_content(next_block)
    elif listed := pax.get("GNU.sparse.map"):
        numbers = [_decimal(part) for part in listed.split(b",")]
    else:
        numbers = [_decimal(part) for part in special.map]
    if len(numbers) % 2:
        raise _broken("the map of a sparse file is wrong")
    return tuple(zip(numbers[::2], numbers[1::2], strict=True)), length


def _map_in_content(next_block: NextBlock) -> list[int]:
    """Form 1.0: decimal numbers, one a line, before the content; the first counts the pieces."""
    numbers: list[int] = []
    rest, wanted = b"", 1
    for _ in range(_MAP_BLOCKS_MAX):
        *lines, rest = (rest + next_block(True)).split(b"\n")
        for line in lines:
            if len(numbers) < wanted:
                numbers.append(_decimal(line))
                wanted = 1 + 2 * numbers[0]
        if len(numbers) == wanted:
            return numbers[1:]
        if len(rest) > BLOCK_BYTES:
            break
    raise _broken("the map of a sparse file is too long")

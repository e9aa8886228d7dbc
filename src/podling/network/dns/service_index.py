"""The records of all Services, by name and by address. Pure.

Records are kept encoded, and addresses packed: a decoded Service costs twenty times as much memory, and most
names are never looked up.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from ipaddress import ip_address

from podling.network.dns.records import SlicedRecords, decode_endpoints, decode_sliced

ADDRESSES_AT_ONCE = 64
"""The addresses that one step of a change takes in or out: about a tenth of a millisecond."""


class ServiceIndex:
    """Holds the records; every change raises ``serial``."""

    def __init__(self) -> None:
        self.serial = 0
        """When the records changed last, in seconds since 1970."""
        self.synced = False
        """True once the records were complete: from then on a name that is not here does not exist."""
        self._records: dict[str, bytes] = {}
        self._owners: dict[bytes, str | tuple[str, ...]] = {}
        self._namespaces: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self._records)

    def keys(self) -> Iterable[str]:
        return self._records.keys()

    def get(self, key: str) -> SlicedRecords | None:
        data = self._records.get(key)
        return None if data is None else decode_sliced(data)

    def has_namespace(self, name: str) -> bool:
        return name in self._namespaces

    @property
    def namespaces(self) -> frozenset[str]:
        return self._namespaces

    def owners(self, packed: bytes) -> tuple[str, ...]:
        """Return the keys of the Services with this address, their own or an endpoint's."""
        found = self._owners.get(packed, ())
        return (found,) if isinstance(found, str) else found

    def encoded(self) -> Iterator[bytes]:
        """Yield every Service's records as they are kept, by key."""
        for key in sorted(self._records):
            if (data := self._records.get(key)) is not None:
                yield data

    def set_namespaces(self, names: Iterable[str], serial: int) -> None:
        self._namespaces = frozenset(names)
        self.serial = serial

    def put(self, data: bytes, serial: int) -> Generator[None, None, str]:
        """Take the records of a Service in place of earlier ones, in steps; return its key if it changed.

        Questions may be answered between the steps: they find the earlier records up to the end. No other
        change may begin meanwhile. Raises ``msgspec.DecodeError``.
        """
        records = decode_sliced(data)
        key = records.key
        old = self._records.get(key)
        if old == data:
            return ""
        yield from self._change_owners(key, None if old is None else decode_sliced(old), records)
        self._records[key] = data
        self.serial = serial
        return key

    def remove(self, key: str, serial: int) -> Generator[None, None, str]:
        """Forget a Service, in steps; return its key if it was there."""
        data = self._records.pop(key, None)
        if data is None:
            return ""
        self.serial = serial
        yield from self._change_owners(key, decode_sliced(data), None)
        return key

    def _change_owners(
        self, key: str, old: SlicedRecords | None, new: SlicedRecords | None
    ) -> Iterator[None]:
        """Record who has the addresses of slices that differ; equal slices are decoded only for a loss."""
        before, after = _slices(old), _slices(new)
        came = yield from _addresses(() if new is None else new.cluster_ips, after - before)
        for number, packed in enumerate(came):
            self._own(key, packed)
            if number % ADDRESSES_AT_ONCE == ADDRESSES_AT_ONCE - 1:
                yield
        lost = yield from _addresses(() if old is None else old.cluster_ips, before - after)
        lost -= came
        if not lost:
            return
        lost -= yield from _addresses((), after & before)
        for number, packed in enumerate(lost):
            self._disown(key, packed)
            if number % ADDRESSES_AT_ONCE == ADDRESSES_AT_ONCE - 1:
                yield

    def _own(self, key: str, packed: bytes) -> None:
        owners = self.owners(packed)
        if key not in owners:
            self._owners[packed] = (*owners, key) if owners else key

    def _disown(self, key: str, packed: bytes) -> None:
        left = tuple(each for each in self.owners(packed) if each != key)
        if left:
            self._owners[packed] = left if len(left) > 1 else left[0]
        else:
            self._owners.pop(packed, None)


def _slices(records: SlicedRecords | None) -> set[bytes]:
    return set() if records is None else set(map(bytes, records.endpoints))


def _addresses(texts: Iterable[str], slices: Iterable[bytes]) -> Generator[None, None, set[bytes]]:
    """Return these addresses and those in slices, packed, in steps."""
    found = set(map(_packed, texts))
    for data in slices:
        for number, address in enumerate(decode_endpoints(data).addresses):
            found.add(_packed(address.ip))
            if number % ADDRESSES_AT_ONCE == ADDRESSES_AT_ONCE - 1:
                yield
        yield
    found.discard(b"")
    return found


def _packed(text: str) -> bytes:
    """Return an address in four or sixteen bytes; none for a text that is no address."""
    try:
        if ":" in text:
            return ip_address(text).packed
        return bytes(map(int, text.split(".")))  # a third of the time of ``ip_address``
    except ValueError:
        return b""

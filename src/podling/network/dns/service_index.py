"""The records of all Services, by name and by address. Pure.

Records are kept encoded, and addresses packed: a decoded Service costs twenty times as much memory, and most
names are never looked up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import ip_address

from podling.network.dns.records import ServiceRecords, decode_records


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

    def get(self, key: str) -> ServiceRecords | None:
        data = self._records.get(key)
        return None if data is None else decode_records(data)

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

    def put(self, data: bytes, serial: int) -> tuple[str, bool]:
        """Take the records of a Service in place of earlier ones; return its key, and whether it changed.

        Raises ``msgspec.DecodeError``.
        """
        records = decode_records(data)
        old = self._records.get(records.key)
        key = records.key
        if old == data:
            return key, False
        if old is not None:
            self._disown(key, decode_records(old))
        self._records[key] = data
        for packed in _addresses(records):
            self._own(key, packed)
        self.serial = serial
        return key, True

    def remove(self, key: str, serial: int) -> bool:
        """Forget a Service; return whether it was there."""
        data = self._records.pop(key, None)
        if data is None:
            return False
        self._disown(key, decode_records(data))
        self.serial = serial
        return True

    def _own(self, key: str, packed: bytes) -> None:
        owners = self.owners(packed)
        if key not in owners:
            self._owners[packed] = (*owners, key) if owners else key

    def _disown(self, key: str, records: ServiceRecords) -> None:
        for packed in _addresses(records):
            left = tuple(each for each in self.owners(packed) if each != key)
            if left:
                self._owners[packed] = left if len(left) > 1 else left[0]
            else:
                self._owners.pop(packed, None)


def _addresses(records: ServiceRecords) -> set[bytes]:
    texts = [*records.cluster_ips, *(a.ip for group in records.endpoints for a in group.addresses)]
    return {ip_address(text).packed for text in texts}

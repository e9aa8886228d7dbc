"""Static hosts, as CoreDNS' ``hosts`` plugin serves them: lines of an address and its names. Pure."""

from __future__ import annotations

from ipaddress import ip_address

from podling.network.dns.answers import (
    PTR,
    TTL_HOSTS_SECONDS,
    Answer,
    Labels,
    Record,
    address_record,
    labels_of,
    reverse_address,
)


class Hosts:
    """The names and addresses in a hosts file. Lines that cannot be read are in ``problems``."""

    def __init__(self, text: str) -> None:
        self.problems: list[str] = []
        self._addresses: dict[Labels, list[str]] = {}
        self._names: dict[bytes, list[str]] = {}
        for line in text.splitlines():
            fields = line.partition("#")[0].split()
            if fields:
                self._add(fields[0], fields[1:])

    def __len__(self) -> int:
        return len(self._addresses)

    def _add(self, ip: str, names: list[str]) -> None:
        try:
            address = ip_address(ip)
        except ValueError:
            self.problems.append(f'hosts: "{ip}" is no address')
            return
        for name in names:
            labels = labels_of(name)
            if not is_name(labels):
                self.problems.append(f'hosts: "{name}" is no name')
                continue
            self._addresses.setdefault(labels, []).append(str(address))
            self._names.setdefault(address.packed, []).append(".".join(labels))

    def lookup(self, labels: Labels, kind: int) -> Answer | None:
        """Return the answer to a question; None if it is not about these hosts."""
        if kind == PTR and (packed := reverse_address(labels)):
            names = tuple(dict.fromkeys(self._names.get(packed, ())))
            records = tuple(Record("", PTR, TTL_HOSTS_SECONDS, name) for name in names)
            return Answer(records=records) if records else None
        if labels not in self._addresses:
            return None
        found = (address_record("", TTL_HOSTS_SECONDS, ip) for ip in dict.fromkeys(self._addresses[labels]))
        return Answer(records=tuple(record for record in found if record.type == kind))


def is_name(labels: Labels) -> bool:
    """Return whether labels make a name that fits into a message."""
    if not labels or sum(len(label) + 1 for label in labels) > 254:
        return False
    return all(0 < len(label) <= 63 and label.isascii() and label.isprintable() for label in labels)

"""The counters of network interfaces, from the kernel's table ``/proc/PID/net/dev``. Pure."""

from __future__ import annotations

from podling.runtime.figures import InterfaceFigures

LOOPBACK = "lo"
_FIELDS = 16
_SENT = 8
"""The place of the first counter of what was sent."""


def interfaces(table: str) -> tuple[InterfaceFigures, ...]:
    """Return the interfaces but the loopback one, in the table's order; other lines count as nothing."""
    found = []
    for line in table.splitlines():
        name, colon, rest = line.partition(":")
        numbers = rest.split()
        if not colon or name.strip() == LOOPBACK or len(numbers) < _FIELDS:
            continue
        if not all(each.isdigit() for each in numbers):
            continue
        counts = [int(each) for each in numbers]
        found.append(
            InterfaceFigures(
                name=name.strip(),
                received_bytes=counts[0],
                received_packets=counts[1],
                received_errors=counts[2],
                received_dropped=counts[3],
                sent_bytes=counts[_SENT],
                sent_packets=counts[_SENT + 1],
                sent_errors=counts[_SENT + 2],
                sent_dropped=counts[_SENT + 3],
            )
        )
    return tuple(found)

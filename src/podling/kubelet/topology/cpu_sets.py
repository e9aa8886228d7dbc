"""Lists of CPUs in the kernel's notation, ``0-3,8``. Pure.

Upstream: ``k8s.io/utils/cpuset``.
"""

from __future__ import annotations

from collections.abc import Iterable

CpuSet = frozenset[int]


def parse_cpus(text: str) -> CpuSet:
    """Return the numbers in ``text``, such as ``0-3,8``; none for an empty text. Raises ``ValueError``."""
    found: set[int] = set()
    for part in text.strip().split(",") if text.strip() else ():
        first, dash, last = part.partition("-")
        begin, end = _number(first), _number(last) if dash else _number(first)
        if begin > end:
            raise ValueError(f"invalid range {part!r} ({begin} > {end})")
        found.update(range(begin, end + 1))
    return frozenset(found)


def format_cpus(cpus: Iterable[int]) -> str:
    """Return the shortest text for a set of CPUs."""
    ranges: list[list[int]] = []
    for cpu in sorted(cpus):
        if ranges and ranges[-1][1] == cpu - 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(f"{first}-{last}" if last > first else str(first) for first, last in ranges)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{text!r} is not the number of a CPU")
    return int(text)

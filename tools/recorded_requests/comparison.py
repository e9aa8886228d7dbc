"""Compares two recordings of the same scenario."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tools.recorded_requests.managed_fields import with_sorted_entries
from tools.recorded_requests.normalisation import Normalised, normalised
from tools.recorded_requests.recording import read_about, read_entries

CONTEXT = 120
"""Characters shown on either side of a difference."""


@dataclass(frozen=True)
class Difference:
    """One request that was answered differently, with the place where the answers part."""

    key: str
    before: str
    after: str


class Pairing:
    """Pairs each generated value of one recording with one of the other.

    Two answers that name the same object in one recording must name the same object in the other.
    """

    def __init__(self) -> None:
        self._forward: dict[tuple[str, str], str] = {}
        self._backward: dict[tuple[str, str], str] = {}

    def first_conflict(
        self, before: Sequence[tuple[str, str]], after: Sequence[tuple[str, str]]
    ) -> tuple[str, str] | None:
        """Pair the values of two answers and describe the first pair that contradicts an earlier one."""
        conflict = None
        for (kind, old), (_, new) in zip(before, after, strict=True):
            known_new = self._forward.setdefault((kind, old), new)
            known_old = self._backward.setdefault((kind, new), old)
            if conflict is None and (known_new, known_old) != (new, old):
                conflict = f"{kind} {old} (before: of {known_old})", f"{kind} {new} (expected: {known_new})"
        return conflict


def differences(before: Path, after: Path) -> Iterator[Difference]:
    """Yield each request that only one recording has, or that was answered differently."""
    about_before, about_after = read_about(before), read_about(after)
    others = {entry.key: entry for entry in read_entries(after)}
    pairing = Pairing()
    for entry in read_entries(before):
        other = others.pop(entry.key, None)
        if other is None:
            yield Difference(entry.key, f"{entry.method} {entry.target}", "no such request")
            continue
        if entry.body == other.body:
            entry, other = replace(entry, body=b""), replace(other, body=b"")
        found = _difference(normalised(entry, about_before), normalised(other, about_after), pairing)
        if found:
            yield Difference(entry.key, *found)
    for key, entry in others.items():
        yield Difference(key, "no such request", f"{entry.method} {entry.target}")


def _difference(before: Normalised, after: Normalised, pairing: Pairing) -> tuple[str, str] | None:
    if before.text != after.text and with_sorted_entries(before.text) != with_sorted_entries(after.text):
        return _around(before.text, after.text)
    return pairing.first_conflict(before.values, after.values)


def _around(before: str, after: str) -> tuple[str, str]:
    """Return both texts around the first place where they differ."""
    shared = min(len(before), len(after))
    at = next((place for place in range(shared) if before[place] != after[place]), shared)
    begin = max(0, at - CONTEXT)
    return before[begin : at + CONTEXT], after[begin : at + CONTEXT]

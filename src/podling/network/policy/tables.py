"""The tables that the kernel should have, and the changes since they were last written. Pure but for itself.

Sets are dicts from element to verdict: the group of a pod's address, empty in a set without verdicts. A set
that was removed and added again between two writes is not written anew; only its elements that differ are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from podling.network.policy.chains import Chain, Group
from podling.network.policy.values import DIRECTIONS


class Tables(Struct, frozen=True, kw_only=True):
    """Everything that the kernel should have."""

    sets: dict[str, dict[str, str]]
    chains: dict[str, Chain | Group]


class Changes(Struct, frozen=True, kw_only=True):
    """One transaction."""

    new_sets: tuple[str, ...] = ()
    new_chains: tuple[Chain | Group, ...] = ()
    removed: dict[str, tuple[str, ...]] = {}
    added: dict[str, dict[str, str]] = {}
    old_chains: tuple[str, ...] = ()
    old_sets: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(
            self.new_sets or self.new_chains or self.removed or self.added or self.old_chains or self.old_sets
        )


def standing_sets(families: Iterable[int]) -> tuple[str, ...]:
    """Return the sets that always exist: the pods' groups, and pairs of a pod's address with itself."""
    return tuple(f"{name}_{family}" for family in families for name in (*DIRECTIONS, "self"))


class RecordedTables:
    """The tables, changed step by step."""

    def __init__(self, families: Iterable[int]) -> None:
        self._sets: dict[str, dict[str, str]] = {name: {} for name in standing_sets(families)}
        self._chains: dict[str, Chain | Group] = {}
        self._set_existed: dict[str, bool] = {}
        self._chain_existed: dict[str, bool] = {}
        self._elements_before: dict[tuple[str, str], str | None] = {}

    def add_set(self, name: str) -> None:
        self._set_existed.setdefault(name, name in self._sets)
        self._sets[name] = {}

    def remove_set(self, name: str) -> None:
        for element in tuple(self._sets[name]):
            self.remove(name, element)
        self._set_existed.setdefault(name, True)
        del self._sets[name]

    def add_chain(self, chain: Chain | Group) -> None:
        self._chain_existed.setdefault(chain.name, chain.name in self._chains)
        self._chains[chain.name] = chain

    def remove_chain(self, name: str) -> None:
        self._chain_existed.setdefault(name, True)
        del self._chains[name]

    def put(self, name: str, element: str, verdict: str = "") -> None:
        held = self._sets[name]
        self._elements_before.setdefault((name, element), held.get(element))
        held[element] = verdict

    def remove(self, name: str, element: str) -> None:
        held = self._sets[name]
        self._elements_before.setdefault((name, element), held.get(element))
        held.pop(element, None)

    def tables(self) -> Tables:
        """Return the tables as they should be now. They are a snapshot of their own."""
        return Tables(sets={name: dict(held) for name, held in self._sets.items()}, chains=dict(self._chains))

    @property
    def has_changes(self) -> bool:
        """True if anything was touched since the last ``take``."""
        return bool(self._set_existed or self._chain_existed or self._elements_before)

    def take(self) -> Changes:
        """Return the changes since the last call."""
        removed: dict[str, list[str]] = {}
        added: dict[str, dict[str, str]] = {}
        for (name, element), before in self._elements_before.items():
            now = self._sets.get(name, _NOTHING).get(element)
            if now == before or name not in self._sets:
                continue
            if before is not None:
                removed.setdefault(name, []).append(element)
            if now is not None:
                added.setdefault(name, {})[element] = now
        sets, chains = _split(self._set_existed, self._sets), _split(self._chain_existed, self._chains)
        changes = Changes(
            new_sets=sets[0],
            new_chains=tuple(self._chains[name] for name in chains[0]),
            removed={name: tuple(elements) for name, elements in removed.items()},
            added=added,
            old_chains=chains[1],
            old_sets=sets[1],
        )
        self._set_existed, self._chain_existed, self._elements_before = {}, {}, {}
        return changes


_NOTHING: Mapping[str, str] = {}


def _split(existed: Mapping[str, bool], now: Mapping[str, object]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the new names and the old ones."""
    new = tuple(name for name, before in existed.items() if not before and name in now)
    return new, tuple(name for name, before in existed.items() if before and name not in now)

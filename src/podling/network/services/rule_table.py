"""The rules of all Services in one table, and the transactions between two states of it. Pure.

A change of one Service costs what that Service costs. Where two Services claim the same key (an external
address and a port), the one whose name comes first has it, even if it came later: so the table depends only
on what exists, not on its history.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from itertools import islice

from msgspec import Struct

from podling.client.base import Key
from podling.network.services.rules import NOTHING, Chain, Element, ServiceRules, digests

_CHAINS_AT_ONCE = 500


class Transaction(Struct, frozen=True):
    """The changes of one table that are carried out together."""

    write_chains: dict[str, Chain] = {}
    """Chains to make, or to write anew, with their rules."""
    drop_chains: frozenset[str] = frozenset()
    add_elements: dict[Element, str] = {}
    drop_elements: frozenset[Element] = frozenset()
    """Also those of ``add_elements`` that have another verdict now."""
    add_memories: dict[str, int] = {}
    drop_memories: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return any(getattr(self, field) for field in self.__struct_fields__)

    def in_parts(self, existing: Container[str]) -> Iterator[Transaction]:
        """Yield transactions that together are this one, and of which none occupies the kernel for long.

        A very large change, as the first one of a large cluster, keeps every other change of nftables on the
        machine waiting. Each chain still changes as a whole, and addresses lead to chains that are complete.
        ``existing`` has the chains of the table.
        """
        if len(self.write_chains) <= _CHAINS_AT_ONCE or self.drop_memories:
            yield self
            return
        new: dict[str, Chain] = {name: () for name in self.write_chains if name not in existing}
        yield Transaction(write_chains=new, add_memories=self.add_memories)
        chains = iter(self.write_chains.items())
        while part := dict(islice(chains, _CHAINS_AT_ONCE)):
            yield Transaction(write_chains=part)
        yield Transaction(
            drop_chains=self.drop_chains, add_elements=self.add_elements, drop_elements=self.drop_elements
        )


class TableState(Struct, frozen=True):
    """The contents of a table: chains by the comments of their rules, elements by their verdicts."""

    chains: Mapping[str, tuple[str, ...]] = {}
    elements: Mapping[Element, str] = {}
    memories: Mapping[str, int] = {}


class RuleTable:
    """The wanted rules of one table, by Service."""

    def __init__(self) -> None:
        self._services: dict[Key, ServiceRules] = {}
        self._owners: dict[Element, Key | dict[Key, str]] = {}

    def __len__(self) -> int:
        return len(self._services)

    def keys(self) -> set[Key]:
        return set(self._services)

    def put(self, changes: Mapping[Key, ServiceRules]) -> Transaction:
        """Replace the rules of Services (by ``NOTHING`` for one that is gone); return what changes."""
        touched: dict[Element, str | None] = {}
        write: dict[str, Chain] = {}
        drop: set[str] = set()
        memories: dict[str, int] = {}
        forgotten: set[str] = set()
        for key, new in changes.items():
            old = self._services.get(key, NOTHING)
            if old == new:
                continue
            self._note_verdicts(touched, old, new)
            self._claim(key, old, new)
            write.update({name: chain for name, chain in new.chains.items() if old.chains.get(name) != chain})
            drop.update(name for name in old.chains if name not in new.chains)
            for name, seconds in old.memories.items():
                if new.memories.get(name) != seconds:
                    forgotten.add(name)
            for name, seconds in new.memories.items():
                if old.memories.get(name) != seconds:
                    memories[name] = seconds
            self._write_users_of(new, forgotten | set(memories), write)
            self._keep(key, new)
        added, dropped = self._changed(touched)
        return Transaction(write, frozenset(drop), added, frozenset(dropped), memories, frozenset(forgotten))

    @staticmethod
    def _write_users_of(rules: ServiceRules, changed: set[str], write: dict[str, Chain]) -> None:
        """Write anew the chains that use a map which is made anew."""
        for name, chain in rules.chains.items():
            if any(getattr(rule, "memory", None) in changed for rule in chain):
                write[name] = chain

    def _keep(self, key: Key, rules: ServiceRules) -> None:
        if rules == NOTHING:
            self._services.pop(key, None)
        else:
            self._services[key] = rules

    # ---- elements that several Services claim

    def _note_verdicts(
        self, touched: dict[Element, str | None], old: ServiceRules, new: ServiceRules
    ) -> None:
        for element in (*old.elements, *new.elements):
            if element not in touched and old.elements.get(element) != new.elements.get(element):
                touched[element] = self.verdict(element)

    def _claim(self, key: Key, old: ServiceRules, new: ServiceRules) -> None:
        for element in old.elements:
            if element not in new.elements:
                self._give_up(element, key)
        for element in new.elements:
            owner = self._owners.get(element)
            if owner is None:
                self._owners[element] = key
            elif isinstance(owner, dict):
                owner[key] = ""
            elif owner != key:
                self._owners[element] = {owner: "", key: ""}
        self._keep(key, new)

    def _give_up(self, element: Element, key: Key) -> None:
        owner = self._owners.get(element)
        if isinstance(owner, dict):
            owner.pop(key, None)
            if len(owner) == 1:
                (self._owners[element],) = owner
        elif owner == key:
            del self._owners[element]

    def verdict(self, element: Element) -> str | None:
        """Return what the table says for a key; None if it does not have it."""
        owner = self._owners.get(element)
        if owner is None:
            return None
        winner = min(owner) if isinstance(owner, dict) else owner
        return self._services[winner].elements[element]

    def _changed(self, before: dict[Element, str | None]) -> tuple[dict[Element, str], set[Element]]:
        added: dict[Element, str] = {}
        dropped: set[Element] = set()
        for element, old in before.items():
            new = self.verdict(element)
            if new == old:
                continue
            if old is not None:
                dropped.add(element)
            if new is not None:
                added[element] = new
        return added, dropped

    # ---- the whole

    def chains(self) -> Iterator[tuple[str, Chain]]:
        for rules in self._services.values():
            yield from rules.chains.items()

    def state(self) -> TableState:
        """Return what the table should hold."""
        return TableState(
            chains={name: digests(chain) for name, chain in self.chains()},
            elements={element: self.verdict(element) or "" for element in self._owners},
            memories={
                name: seconds for rules in self._services.values() for name, seconds in rules.memories.items()
            },
        )

    def difference(self, held: TableState) -> Transaction:
        """Return the transaction that makes a table with the contents ``held`` hold what it should."""
        memories = {
            name: seconds for rules in self._services.values() for name, seconds in rules.memories.items()
        }
        add_memories = {name: each for name, each in memories.items() if held.memories.get(name) != each}
        write: dict[str, Chain] = {}
        names: set[str] = set()
        for name, chain in self.chains():
            names.add(name)
            renewed = any(getattr(rule, "memory", None) in add_memories for rule in chain)
            if renewed or held.chains.get(name) != digests(chain):
                write[name] = chain
        added: dict[Element, str] = {}
        dropped = {element for element in held.elements if element not in self._owners}
        for element in self._owners:
            verdict, old = self.verdict(element), held.elements.get(element)
            if verdict != old and verdict is not None:
                added[element] = verdict
                if old is not None:
                    dropped.add(element)
        return Transaction(
            write_chains=write,
            drop_chains=frozenset(name for name in held.chains if name not in names),
            add_elements=added,
            drop_elements=frozenset(dropped),
            add_memories=add_memories,
            drop_memories=frozenset(
                name for name, each in held.memories.items() if memories.get(name) != each
            ),
        )

"""The groups, chains and sets that pods of this node need. Pure but for itself.

A group is used by addresses, a chain by groups, a set by chains. Each exists while its uses are above zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from podling.network.policy.chains import Compiled, Group
from podling.network.policy.member_index import MemberIndex
from podling.network.policy.tables import RecordedTables
from podling.network.policy.values import Members

Fill = Callable[[Members], Iterable[tuple[str, str]]]
"""Returns all elements of the sets of one contents: the name of the set, and the element."""


class InUse:
    """Counts uses, and adds to the tables what is used first and removes what is used no more."""

    def __init__(self, tables: RecordedTables, families: Iterable[int], fill: Fill) -> None:
        self.index = MemberIndex()
        self._tables = tables
        self._families = tuple(families)
        self._fill = fill
        self._uses: Counter[str] = Counter()
        self._groups: dict[str, Group] = {}
        self._chains: dict[str, Compiled] = {}

    def acquire(self, group: Group, chains: Iterable[Compiled]) -> None:
        """Use a group of ``chains`` once more."""
        if not self._is_first(group.name):
            return
        self._groups[group.name] = group
        for compiled in {each.chain.name: each for each in chains}.values():
            self._acquire_chain(compiled)
        self._tables.add_chain(group)

    def _acquire_chain(self, compiled: Compiled) -> None:
        if not self._is_first(compiled.chain.name):
            return
        self._chains[compiled.chain.name] = compiled
        for members in compiled.members:
            if self._is_first(members.name):
                for family in self._families:
                    self._tables.add_set(f"{members.name}_{family}")
                self.index.add(members)
                for name, element in self._fill(members):
                    self._tables.put(name, element)
        self._tables.add_chain(compiled.chain)

    def release(self, name: str) -> None:
        """Use the group of this name once less."""
        if not self._is_last(name):
            return
        self._tables.remove_chain(name)
        for chain in self._groups.pop(name).chains:
            self._release_chain(chain)

    def _release_chain(self, name: str) -> None:
        if not self._is_last(name):
            return
        self._tables.remove_chain(name)
        for members in self._chains.pop(name).members:
            if self._is_last(members.name):
                self.index.remove(members)
                for family in self._families:
                    self._tables.remove_set(f"{members.name}_{family}")

    def _is_first(self, name: str) -> bool:
        self._uses[name] += 1
        return self._uses[name] == 1

    def _is_last(self, name: str) -> bool:
        self._uses[name] -= 1
        if self._uses[name]:
            return False
        del self._uses[name]
        return True

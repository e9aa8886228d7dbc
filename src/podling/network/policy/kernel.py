"""The nftables table of network policies: written in transactions, compared with what it should be.

``damage`` finds what another program deleted or changed. Names of chains follow from their contents, so the
rules of a chain never change: the first listing after a write shows them, and every later one must show the
same; their number is known. The caller makes one call at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from podling.network import firewall
from podling.network.generation import generation
from podling.network.nftables.batches import Batch
from podling.network.nftables.kernel import Kernel
from podling.network.policy import rendering
from podling.network.policy.chains import Chain
from podling.network.policy.elements import element_batch
from podling.network.policy.tables import Changes, Tables
from podling.network.policy.values import INGRESS
from podling.runtime.base import RuntimeFailure
from podling.runtime.oci import commands
from podling.runtime.oci.threads import in_thread

_SECONDS_MAX = 60.0


class PolicyTable:
    """The table ``name`` of one node."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._generation = -1
        self._rules: dict[str, Any] = {}

    async def write(self, families: Iterable[int], tables: Tables) -> None:
        """Put the whole table in place of any earlier one. Raises ``RuntimeFailure``."""
        self._rules.clear()
        await self._apply(rendering.whole_table(self.name, families, tables))

    async def change(self, changes: Changes) -> None:
        """Carry changes out. Raises ``RuntimeFailure``: nothing was changed then."""
        if not changes:
            return
        if (batch := element_batch(self.name, changes)) is not None:
            self._generation = -1
            await _commit(batch)
        else:
            await self._apply(rendering.changes_text(self.name, changes))
        for name in changes.old_chains:
            self._rules.pop(name, None)

    async def remove(self) -> None:
        """Remove the table, if there is one. Raises ``RuntimeFailure``."""
        await self._apply(rendering.removal(self.name))

    async def _apply(self, text: str) -> None:
        self._generation = -1
        await firewall.apply(text)

    async def may_be_changed(self) -> bool:
        """Return whether any program changed any rule of the machine since the table was last found in order.

        Raises ``RuntimeFailure``.
        """
        return await _current_generation() != self._generation

    async def damage(self, tables: Tables) -> str:
        """Return the first difference of the kernel's table; empty if there is none.

        Raises ``RuntimeFailure``.
        """
        current = await _current_generation()
        command = ["nft", "-j", "list", "table", rendering.FAMILY, self.name]
        listed = await commands.run(command, check=False, deadline=_SECONDS_MAX)
        if listed.code:
            return f"the nftables table {self.name} is missing: {listed.errors.partition(chr(10))[0]}"
        found = await in_thread(lambda: parse_listing(listed.raw))
        if difference := self._difference(found, tables):
            return f"the nftables table {self.name} was changed: {difference}"
        self._generation = current
        return ""

    def _difference(self, found: Listing, tables: Tables) -> str:
        for name, elements in tables.sets.items():
            if found.sets.get(name) != elements:
                return f"the set {name}"
        counts = _rule_counts(tables)
        for name, count in counts.items():
            rules = found.rules.get(name, [])
            if name not in found.chains or len(rules) != count:
                return f"the chain {name}"
            if self._rules.setdefault(name, rules) != rules:
                return f"the chain {name}"
        extra = found.chains - counts.keys()
        return f"the chain {min(extra)}" if extra else ""


def _rule_counts(tables: Tables) -> dict[str, int]:
    """Return the number of rules of each chain; a chain that the kernel enters has its hook in addition."""
    families = [family for family in (4, 6) if f"{INGRESS}_{family}" in tables.sets]
    counts = {name: len(rules) + 1 for name, rules in rendering.base_rules(families).items()}
    for name, chain in tables.chains.items():
        counts[name] = len(chain.matches) if isinstance(chain, Chain) else len(chain.chains) + 1
    return counts


async def _commit(batch: Batch) -> None:
    def commit() -> None:
        with Kernel() as kernel:
            kernel.commit(batch)

    try:
        await in_thread(commit)
    except OSError as error:
        raise RuntimeFailure(f"the kernel refuses a change of nftables: {error.strerror}") from error


async def _current_generation() -> int:
    try:
        return await in_thread(generation)
    except OSError as error:
        raise RuntimeFailure(f"the rules of nftables cannot be checked: {error}") from error


class Listing(msgspec.Struct):
    """A table as nft lists it: elements with their verdicts, chains, and their rules in nft's terms."""

    sets: dict[str, dict[str, str]]
    chains: set[str]
    rules: dict[str, list[Any]]


def parse_listing(text: bytes) -> Listing:
    """Return the contents of ``nft -j list table``."""
    listing = Listing({}, set(), {})
    for each in msgspec.json.decode(text)["nftables"]:
        kind, body = next(iter(each.items()))
        if kind in ("set", "map"):
            listing.sets[body["name"]] = dict(map(_element, body.get("elem", ())))
        elif kind == "chain":
            policy = {key: body.get(key) for key in ("hook", "prio", "policy")}
            listing.chains.add(body["name"])
            listing.rules.setdefault(body["name"], []).extend([policy] if body.get("hook") else [])
        elif kind == "rule":
            listing.rules.setdefault(body["chain"], []).append(body["expr"])
    return listing


def _element(element: Any) -> tuple[str, str]:
    if isinstance(element, Mapping):
        element = element.get("elem", element)
        element = element.get("val", element) if isinstance(element, Mapping) else element
    if isinstance(element, list):
        key, verdict = element
        return _key(key), verdict.get("goto", {}).get("target", "") if verdict else ""
    return _key(element), ""


def _key(key: Any) -> str:
    if isinstance(key, Mapping):
        return " . ".join(str(part) for part in key["concat"])
    return str(key)

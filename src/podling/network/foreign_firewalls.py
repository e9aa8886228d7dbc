"""Rules of other programs that drop packets of pods: firewalld, ufw, Docker, an administrator's own.

A packet passes every chain of a hook, also after one table accepted it, so no rule of this node's can let
through what another chain drops. FORWARD chains of iptables are opened for pods
(``firewall.open_forwarding``); other chains are their owners', and are only reported.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from podling import clock
from podling.network.generation import generation
from podling.runtime.base import RuntimeFailure
from podling.runtime.oci import commands
from podling.runtime.oci.threads import in_thread

logger = logging.getLogger(__name__)

CHECK_SECONDS = 30.0
REASON = "ForwardingBlocked"
_IPTABLES = ("filter", "FORWARD")
"""Table and chain that iptables makes, whose rules ``firewall`` changes."""
_END = ("drop", "reject")


class ForeignChain(Struct, frozen=True):
    """A chain at the hook ``forward`` of a table of another program."""

    family: str
    table: str
    name: str
    drops: bool
    """Its policy is to drop."""

    def __str__(self) -> str:
        return f"{self.family} {self.table} {self.name}"


def foreign_chains(listing: bytes, prefix: str = "podling_") -> list[ForeignChain]:
    """Return the foreign chains in ``nft -j list chains``. Tables with ``prefix`` are Podling's."""
    found = []
    for each in msgspec.json.decode(listing)["nftables"]:
        chain = each.get("chain", {})
        if chain.get("hook") != "forward" or chain["family"] not in ("ip", "ip6", "inet"):
            continue
        if chain["table"].startswith(prefix) or (chain["table"], chain["name"]) == _IPTABLES:
            continue
        drops = chain.get("policy") == "drop"
        found.append(ForeignChain(chain["family"], chain["table"], chain["name"], drops))
    return found


def blocks(chain: ForeignChain, rules: Sequence[Any], bridges: Iterable[str]) -> bool:
    """Return whether a chain drops what none of its rules accepts, and no rule names a bridge of pods.

    ``rules`` are the expressions of its rules. Firewalld accepts by policy, and rejects in the last rule.
    """
    text = msgspec.json.encode(rules).decode()
    if any(bridge in text for bridge in bridges):
        return False
    last = rules[-1] if rules else []
    return chain.drops or (len(last) == 1 and any(end in last[0] for end in _END))


async def blocking_chains(bridges: Sequence[str]) -> list[ForeignChain]:
    """Return the foreign chains that drop pods' packets. Raises ``RuntimeFailure``."""
    listed = await commands.run(["nft", "-j", "list", "chains"])
    found = []
    for chain in foreign_chains(listed.raw):
        command = ["nft", "-j", "list", "chain", chain.family, chain.table, chain.name]
        shown = await commands.run(command, check=False)
        if shown.code:  # it was deleted meanwhile
            continue
        each = msgspec.json.decode(shown.raw)["nftables"]
        if blocks(chain, [item["rule"]["expr"] for item in each if "rule" in item], bridges):
            found.append(chain)
    return found


class ForeignRules:
    """Reports chains that drop the packets of the pods of one node, whenever there is a new one."""

    def __init__(self, bridge: str, report: Callable[[str, str], object]) -> None:
        self._bridge = bridge
        self._report = report

    async def run(self) -> None:
        """Look until cancelled; after the first look only when some program changed a rule."""
        known: set[str] = set()
        checked = -1
        while True:
            try:
                current = await in_thread(generation)
                if current != checked:
                    found = {str(chain) for chain in await blocking_chains((self._bridge,))}
                    for chain in sorted(found - known):
                        self._report(REASON, advice(chain, self._bridge))
                    known, checked = found, current
            except (OSError, RuntimeFailure) as error:
                logger.info("rules of other programs cannot be listed: %s", error)
            await clock.sleep(clock.aligned(CHECK_SECONDS))


def advice(chain: str, bridge: str) -> str:
    """Return the message about a chain that drops pods' packets."""
    return (
        f"the nftables chain {chain} of another program drops forwarded packets: pods may reach neither each "
        f"other nor the outside until it accepts packets from and to {bridge}"
    )

"""Chains of other programs that drop forwarded packets."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podling.network.foreign_firewalls import ForeignChain, advice, blocking_chains, blocks, foreign_chains

ACCEPTS = ForeignChain("inet", "firewalld", "filter_FORWARD", drops=False)
DROPS = ForeignChain("ip", "mine", "forward", drops=True)
REJECT = [{"reject": {"type": "icmpx", "expr": "admin-prohibited"}}]
KNOWN = [{"match": {"left": {"ct": {"key": "state"}}, "right": "established"}}, {"accept": None}]


def bridge(name: str) -> list[Any]:
    return [{"match": {"left": {"meta": {"key": "iifname"}}, "right": name}}, {"accept": None}]


@pytest.mark.parametrize(
    ("chain", "rules", "expected"),
    [
        (ACCEPTS, [], False),
        (ACCEPTS, [KNOWN], False),
        (ACCEPTS, [KNOWN, REJECT], True),
        (ACCEPTS, [KNOWN, [{"drop": None}]], True),
        (ACCEPTS, [REJECT, KNOWN], False),
        (ACCEPTS, [[*KNOWN[:1], {"drop": None}]], False),
        (ACCEPTS, [bridge("pl-1"), REJECT], False),
        (DROPS, [], True),
        (DROPS, [KNOWN], True),
        (DROPS, [bridge("pl-1")], False),
        (DROPS, [bridge("docker0")], True),
    ],
)
def test_chain_blocks_unless_it_accepts_the_bridge(
    chain: ForeignChain, rules: list[Any], expected: bool
) -> None:
    assert blocks(chain, rules, ("pl-1",)) == expected


def test_chains_of_podling_and_of_iptables_are_not_foreign() -> None:
    base = {"hook": "forward", "policy": "drop", "name": "FORWARD"}
    chains = [
        {"family": "ip", "table": "filter", **base},
        {"family": "inet", "table": "podling_1_policy", **base},
        {"family": "bridge", "table": "other", **base},
        {"family": "inet", "table": "other", **base, "hook": "input"},
        {"family": "inet", "table": "other", "name": "plain"},
        {"family": "ip6", "table": "other", **base},
    ]
    listing = {"nftables": [{"metainfo": {}}, *({"chain": each} for each in chains)]}
    assert foreign_chains(msgspec.json.encode(listing)) == [
        ForeignChain("ip6", "other", "FORWARD", drops=True)
    ]


RULES = """
table inet firewalld {
  chain filter_FORWARD {
    type filter hook forward priority 10
    ct state established accept
    reject with icmpx admin-prohibited
  }
}
table ip strict {
  chain forward {
    type filter hook forward priority 0; policy drop;
    iifname "pl-*" accept
  }
}
"""


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_blocking_chains_of_the_kernel_are_found() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = ["unshare", "--net", sys.executable, str(Path(__file__))]
    done = subprocess.run(command, env=environment, check=True, timeout=60, capture_output=True, text=True)
    assert done.stdout.split("\n")[:2] == ["['inet firewalld filter_FORWARD']", "[]"]


def test_message_names_chain_and_bridge() -> None:
    assert "inet firewalld filter_FORWARD" in advice(str(ACCEPTS), "pl-1")
    assert advice(str(ACCEPTS), "pl-1").endswith("from and to pl-1")


def main() -> None:
    subprocess.run(["nft", "-f", "-"], input=RULES.encode(), check=True)
    print([str(each) for each in asyncio.run(blocking_chains(("pl-",)))])
    subprocess.run(["nft", "delete", "table", "inet", "firewalld"], check=True)
    print([str(each) for each in asyncio.run(blocking_chains(("pl-",)))])


if __name__ == "__main__":
    main()

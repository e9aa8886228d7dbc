"""The table in the kernel, in a network namespace: written whole and in steps, and every damage found."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podling.api.networking_v1 import NetworkPolicy
from podling.network.policy.index import PolicyIndex
from podling.network.policy.kernel import PolicyTable, parse_listing
from podling.network.policy.policies import Policy, policy_of
from podling.network.policy.tables import Changes
from podling.network.policy.values import NamedPort, NodeFacts, PolicyPod
from podling.runtime.base import RuntimeFailure

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]

FACTS = NodeFacts(families=(4, 6), dns=("10.0.0.250",))
RULES: list[dict[str, Any]] = [
    {"from": [{"podSelector": {}}], "ports": [{"port": "web"}, {"port": 53, "protocol": "UDP"}]},
    {
        "from": [
            {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}},
            {"ipBlock": {"cidr": "::/0"}},
            {"namespaceSelector": {}},
        ],
        "ports": [{"port": 80, "endPort": 90}, {"port": 443}, {"protocol": "SCTP"}],
    },
]


def policy(name: str) -> Policy:
    egress = [{"to": rule["from"], "ports": rule["ports"]} for rule in RULES]
    spec = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"], "ingress": RULES, "egress": egress}
    return policy_of(
        msgspec.convert({"metadata": {"name": name, "namespace": "x"}, "spec": spec}, NetworkPolicy)
    )


def pod(number: int) -> PolicyPod:
    return PolicyPod(
        key=str(number),
        namespace="x",
        addresses=(f"10.0.0.{number}", f"fd00::{number}"),
        ports=(NamedPort("web", "TCP", 80 + number),),
        local=number < 3,
    )


def filled() -> PolicyIndex:
    index = PolicyIndex(FACTS)
    index.put_namespace("x", {})
    index.put_policy(policy("p"))
    for number in range(1, 6):
        index.put_pod(pod(number))
    return index


def run(command: str) -> None:
    subprocess.run(command.split(), check=True)


async def write_in_steps() -> None:
    table, index = PolicyTable("t"), PolicyIndex(FACTS)
    await table.write(FACTS.families, index.tables())
    index.take_changes()
    steps: list[Callable[[], None]] = [
        partial(index.put_namespace, "x", {}),
        partial(index.put_policy, policy("p")),
        *(partial(index.put_pod, pod(number)) for number in range(1, 6)),
        partial(index.put_policy, policy("q")),
        partial(index.remove_policy, "x", "p"),
        *(partial(index.remove_pod, str(number)) for number in (1, 4)),
    ]
    for step in steps:
        step()
        await table.change(index.take_changes())
        assert await table.damage(index.tables()) == ""
        assert not await table.may_be_changed()
    for number in (2, 3, 5):
        index.remove_pod(str(number))
    await table.change(index.take_changes())
    assert await table.damage(index.tables()) == ""
    await table.remove()
    await table.remove()


async def find_damage() -> None:
    table, index = PolicyTable("t"), filled()
    tables = index.tables()
    group = next(name for name in tables.chains if name.startswith("ingress_pods"))
    chain = next(name for name in tables.chains if name.startswith("ingress_policy"))
    pods = next(name for name in tables.sets if name.startswith("pods_") and name.endswith("_4"))
    damages = {
        "nft delete table inet t": "is missing",
        "nft flush ruleset": "is missing",
        "nft flush table inet t": "the chain",
        "nft flush chain inet t to_pods": "the chain to_pods",
        "nft insert rule inet t to_pods accept": "the chain to_pods",
        f"nft insert rule inet t {chain} accept": f"the chain {chain}",
        f"nft flush chain inet t {group}": f"the chain {group}",
        f"nft add element inet t {pods} {{ 192.0.2.1 }}": f"the set {pods}",
        "nft flush map inet t ingress_6": "the set ingress_6",
        "nft add chain inet t extra": "the chain extra",
    }
    for command, found in damages.items():
        await table.write(FACTS.families, tables)
        assert await table.damage(tables) == ""
        assert not await table.may_be_changed()
        run(command)
        assert await table.may_be_changed()
        assert found in await table.damage(tables), command
        await table.write(FACTS.families, tables)
        run(command)
        assert found in await table.damage(tables), f"{command}, before the table was ever looked at"
    for changes in (filled().take_changes(), Changes(added={"self_4": {"10.0.0.1 . 10.0.0.1": ""}})):
        with pytest.raises(RuntimeFailure, match="No such file"):
            await PolicyTable("absent").change(changes)


PARTS = {"write in steps": write_in_steps, "find damage": find_damage}


@pytest.mark.parametrize("part", PARTS)
def test_table_in_the_kernel(part: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = ["unshare", "--net", sys.executable, str(Path(__file__)), part]
    subprocess.run(command, env=environment, check=True, timeout=60)


def test_elements_are_read_in_every_form_that_nft_writes() -> None:
    sets = [
        {"set": {"name": "a", "elem": ["10.0.0.1", {"elem": {"val": "10.0.0.2", "counter": {}}}]}},
        {"set": {"name": "b", "elem": [{"concat": ["10.0.0.1", 80]}]}},
        {"set": {"name": "c"}},
        {
            "map": {
                "name": "d",
                "elem": [["10.0.0.1", {"goto": {"target": "x"}}], ["10.0.0.2", {"drop": None}]],
            }
        },
    ]
    found = parse_listing(msgspec.json.encode({"nftables": [{"metainfo": {}}, *sets]}))
    assert found.sets == {
        "a": {"10.0.0.1": "", "10.0.0.2": ""},
        "b": {"10.0.0.1 . 80": ""},
        "c": {},
        "d": {"10.0.0.1": "x", "10.0.0.2": ""},
    }


if __name__ == "__main__":
    asyncio.run(PARTS[sys.argv[1]]())

"""A node's first pods wait for the block of addresses that the cluster assigns; later ones know it."""

from __future__ import annotations

import asyncio
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

import pytest

from podling import clock
from podling.network.assignment import WAIT_SECONDS, Assignment, agree, parse_blocks
from podling.network.blocks import Blocks
from podling.runtime.base import RuntimeFailure

BLOCK = Blocks(IPv4Network("10.88.7.0/24"), IPv6Network("fd00:88:0:7::/64"))
OTHER = Blocks(IPv4Network("10.88.8.0/24"))


async def test_first_pods_wait_until_a_block_is_assigned(tmp_path: Path) -> None:
    assignment = Assignment(tmp_path / "assigned", needed=True)
    waiting = asyncio.create_task(assignment.wait())
    await clock.sleep(WAIT_SECONDS - 1)
    assert not waiting.done()
    assignment.announce(BLOCK)
    await waiting
    assignment.check(BLOCK)


async def test_wait_for_a_block_ends_with_the_reason(tmp_path: Path) -> None:
    assignment = Assignment(tmp_path / "assigned", needed=True)
    began = clock.monotonic()
    with pytest.raises(RuntimeFailure, match=r"its spec\.podCIDRs are empty"):
        await assignment.wait()
    assert clock.monotonic() - began == pytest.approx(WAIT_SECONDS)


async def test_nothing_waits_where_no_controller_assigns_blocks(tmp_path: Path) -> None:
    began = clock.monotonic()
    assignment = Assignment(tmp_path / "assigned", needed=False)
    await assignment.wait()
    assignment.check(BLOCK)
    assert clock.monotonic() == began


async def test_block_of_an_earlier_run_is_known_at_once(tmp_path: Path) -> None:
    before = Assignment(tmp_path / "assigned", needed=True)
    before.announce(BLOCK)
    before.save()
    after = Assignment(tmp_path / "assigned", needed=True)
    after.load()
    began = clock.monotonic()
    await after.wait()
    assert (after.blocks, clock.monotonic()) == (BLOCK, began)


@pytest.mark.parametrize("text", ["", "10.88", "10.88.7.0/2", "fd00::/64\n"])
def test_file_that_was_cut_off_is_ignored(tmp_path: Path, text: str) -> None:
    (tmp_path / "assigned").write_text(text)
    assignment = Assignment(tmp_path / "assigned", needed=True)
    assignment.load()
    assert assignment.blocks is None


def test_pods_of_another_block_keep_new_pods_waiting(tmp_path: Path) -> None:
    assignment = Assignment(tmp_path / "assigned", needed=True)
    assignment.announce(BLOCK)
    with pytest.raises(RuntimeFailure, match=r"spec\.podCIDRs are 10\.88\.7\.0/24 .*of 10\.88\.8\.0/24;"):
        assignment.check(OTHER)


@pytest.mark.parametrize(
    ("texts", "blocks"),
    [
        (["10.88.7.0/24", "fd00:88:0:7::/64"], BLOCK),
        (["fd00:88:0:7::/64", "10.88.7.0/24"], BLOCK),
        (["10.88.8.0/24"], OTHER),
        (["fd00:88:0:7::/64"], None),
        (["nonsense"], None),
        ([], None),
    ],
)
def test_blocks_of_a_node_by_family(texts: list[str], blocks: Blocks | None) -> None:
    assert parse_blocks(texts) == blocks


@pytest.mark.parametrize(
    ("own", "same"),
    [
        (BLOCK, True),
        (Blocks(BLOCK.ipv4), True),
        (OTHER, False),
        (Blocks(BLOCK.ipv4, IPv6Network("fd00:88:0:8::/64")), False),
    ],
)
def test_blocks_agree_in_the_families_that_both_have(own: Blocks, same: bool) -> None:
    assert agree(BLOCK, own) == same

"""Blocks of pod addresses: each has one holder, and released ones come again late."""

from __future__ import annotations

from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.controllers.nodes.pod_blocks import PodBlocks, RangeFull, parse_blocks
from podling.machinery.network_ranges import Network


def blocks(pool: str = "10.88.0.0/22", prefix: int = 24) -> PodBlocks:
    return PodBlocks(ip_network(pool), prefix)


def take(of: PodBlocks, holder: str, *preferred: str) -> str:
    return str(of.take(holder, parse_blocks(preferred)))


@pytest.mark.parametrize(
    ("pool", "prefix", "first", "second"),
    [
        ("10.88.0.0/16", 24, "10.88.0.0/24", "10.88.1.0/24"),
        ("10.88.0.0/16", 20, "10.88.0.0/20", "10.88.16.0/20"),
        ("fd00:88::/48", 64, "fd00:88::/64", "fd00:88:0:1::/64"),
    ],
)
def test_blocks_are_given_in_order(pool: str, prefix: int, first: str, second: str) -> None:
    of = blocks(pool, prefix)
    assert [take(of, "a"), take(of, "b")] == [first, second]


def test_released_block_comes_again_after_all_others() -> None:
    of = blocks()
    assert take(of, "a") == "10.88.0.0/24"
    of.release("a")
    taken = [take(of, name) for name in "bcde"]
    assert taken == ["10.88.1.0/24", "10.88.2.0/24", "10.88.3.0/24", "10.88.0.0/24"]
    with pytest.raises(RangeFull, match=r"no /24 of 10\.88\.0\.0/22 is free"):
        take(of, "f")


@pytest.mark.parametrize(
    ("preferred", "given"),
    [
        (["10.88.2.0/24"], "10.88.2.0/24"),
        (["10.88.1.0/24", "10.88.3.0/24"], "10.88.3.0/24"),
        (["10.88.1.0/24"], "10.88.0.0/24"),
        (["10.88.2.0/25"], "10.88.0.0/24"),
        (["10.99.2.0/24"], "10.88.0.0/24"),
        (["fd00::/24"], "10.88.0.0/24"),
        (["", "nonsense"], "10.88.0.0/24"),
    ],
)
def test_preferred_block_is_given_if_it_is_a_free_one(preferred: list[str], given: str) -> None:
    of = blocks()
    assert of.occupy("other", ip_network("10.88.1.0/24"))
    assert take(of, "a", *preferred) == given


def test_preferred_blocks_are_skipped_by_the_order() -> None:
    of = blocks()
    assert take(of, "a", "10.88.1.0/24") == "10.88.1.0/24"
    assert [take(of, "b"), take(of, "c")] == ["10.88.0.0/24", "10.88.2.0/24"]


@pytest.mark.parametrize(
    ("block", "left"),
    [
        ("10.88.1.0/24", ["0", "2", "3"]),
        ("10.88.1.64/26", ["0", "2", "3"]),
        ("10.88.2.0/23", ["0", "1"]),
        ("10.88.0.0/8", []),
        ("10.99.0.0/24", ["0", "1", "2", "3"]),
        ("fd00::/64", ["0", "1", "2", "3"]),
    ],
)
def test_occupied_block_takes_all_that_it_overlaps(block: str, left: list[str]) -> None:
    of = blocks()
    assert of.occupy("other", ip_network(block, strict=False)) == (len(left) < 4)
    assert [take(of, number).split(".")[2] for number in left] == left
    with pytest.raises(RangeFull):
        take(of, "last")


def test_block_with_two_holders_is_free_after_both_released_it() -> None:
    of = blocks("10.88.0.0/24")
    for holder in ("a", "b"):
        of.occupy(holder, ip_network("10.88.0.0/24"))
    of.release("a")
    with pytest.raises(RangeFull):
        take(of, "c")
    of.release("b")
    assert take(of, "c") == "10.88.0.0/24"


@given(
    st.lists(
        st.tuples(st.sampled_from(["take", "prefer", "release"]), st.integers(0, 9), st.integers(0, 15)),
        max_size=60,
    )
)
def test_no_block_is_given_twice(steps: list[tuple[str, int, int]]) -> None:
    of = blocks("10.88.0.0/20")
    held: dict[str, Network] = {}
    for step, node, number in steps:
        name = f"node-{node}"
        if step == "release":
            of.release(name)
            held.pop(name, None)
        elif name not in held:
            wish = [ip_network(f"10.88.{number}.0/24")] if step == "prefer" else []
            given_block = of.take(name, wish)
            assert given_block not in held.values()
            if wish and wish[0] not in held.values():
                assert given_block == wish[0]
            held[name] = given_block

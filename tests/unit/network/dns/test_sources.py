"""The clients that get answers."""

from __future__ import annotations

import pytest

from podling.network.dns.sources import KNOWN_MAX, Sources


@pytest.mark.parametrize(
    ("ip", "allowed"),
    [
        ("10.88.0.7", True),
        ("fd00::7", True),
        ("127.0.0.1", True),
        ("10.88.1.7", False),
        ("198.51.100.7", False),
        ("fd01::7", False),
        ("fe80::1%lo", False),
    ],
)
def test_pods_and_the_node_itself_get_answers(ip: str, allowed: bool) -> None:
    """Loopback stands for every address of the node."""
    sources = Sources(("10.88.0.0/24", "fd00::/64"))
    assert sources.allows(ip) is allowed
    assert sources.known == {ip: allowed}, "the next question of this client costs one look-up"


def test_memory_of_strangers_is_bounded() -> None:
    sources = Sources(("10.0.0.0/8",))
    for number in range(KNOWN_MAX + 10):
        sources.allows(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert len(sources.known) <= KNOWN_MAX

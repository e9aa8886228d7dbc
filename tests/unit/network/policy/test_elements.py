"""Elements as the kernel holds them."""

from __future__ import annotations

import pytest

from podling.network.policy.elements import element_batch, key_of
from podling.network.policy.tables import Changes


@pytest.mark.parametrize(
    ("element", "key"),
    [
        ("10.0.0.1", "0a000001"),
        ("10.0.0.1 . 10.0.0.2", "0a0000010a000002"),
        ("10.0.0.1 . 8080", "0a0000011f900000"),
        ("fd00::1", "fd" + "00" * 14 + "01"),
        ("fd00::1 . 53", "fd" + "00" * 14 + "01" + "00350000"),
    ],
)
def test_keys_are_words_in_network_order(element: str, key: str) -> None:
    assert key_of(element).hex() == key


def test_only_changes_of_elements_are_messages() -> None:
    assert element_batch("t", Changes(new_sets=("pods_1_4",))) is None
    assert element_batch("t", Changes(old_chains=("c",))) is None
    batch = element_batch("t", Changes(removed={"self_4": ("10.0.0.1 . 10.0.0.1",)}))
    assert batch is not None
    assert len(batch) == 1

"""$(NAME) expansion, as a table."""

from __future__ import annotations

import pytest

from podling.kubelet.expansion import expand, unresolved


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("plain", "plain"),
        ("$(A)", "1"),
        ("$(A)$(B)", "12"),
        ("$(MISSING)", "$(MISSING)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$$$$(A)", "$$(A)"),
        ("$A ${A}", "$A ${A}"),
        ("$(A", "$(A"),
        ("$()", "$()"),
        ("cost: 5$", "cost: 5$"),
        ("$$", "$"),
    ],
)
def test_expansion_replaces_known_names(text: str, expanded: str) -> None:
    assert expand(text, {"A": "1"}, {"B": "2", "A": "shadowed"}) == expanded


def test_unresolved_names_are_listed() -> None:
    assert unresolved("$(A)/$(B)/$$(C)", {"A": "1"}) == ("B",)

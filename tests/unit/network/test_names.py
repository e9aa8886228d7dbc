"""Names of one node on its machine."""

from __future__ import annotations

from podling.network.names import Names


def test_names_are_short_and_the_clusters_own() -> None:
    one, two = Names.of("cluster-one"), Names.of("cluster-two")
    assert one != two
    assert len(one.bridge) <= 15

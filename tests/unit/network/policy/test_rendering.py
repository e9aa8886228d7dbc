"""Tables as text for nft."""

from __future__ import annotations

from podling.network.policy.chains import Chain, Match, group_of
from podling.network.policy.rendering import changes_text, removal, whole_table
from podling.network.policy.tables import Changes, RecordedTables

MATCHES = (
    Match(),
    Match(protocol="SCTP"),
    Match(protocol="TCP", ports=((80, 80), (90, 100))),
    Match(family=4, peers="pods_1_4", protocol="UDP", ports=((53, 53),)),
    Match(family=6, ranges=((1, 1), (2**64, 2**64 + 5))),
    Match(family=4, peers="pods_1_4", protocol="TCP", targets="ports_1_4"),
)
RULES = """\
accept
meta l4proto sctp accept
tcp dport { 80, 90-100 } accept
ip saddr @pods_1_4 udp dport { 53 } accept
ip6 saddr { ::1, 0:0:0:1::-::1:0:0:0:5 } accept
ip saddr @pods_1_4 meta l4proto tcp ip daddr . th dport @ports_1_4 accept""".splitlines()


def test_matches_of_ingress_compare_the_source() -> None:
    chain = Chain(direction="ingress", matches=MATCHES)
    text = changes_text("t", Changes(new_chains=(chain,)))
    assert text.splitlines() == [
        f"add chain inet t {chain.name}",
        *(f"add rule inet t {chain.name} {rule}" for rule in RULES),
    ]


def test_matches_of_egress_compare_the_destination() -> None:
    chain = Chain(direction="egress", matches=MATCHES[3:4])
    text = changes_text("t", Changes(new_chains=(chain,)))
    assert text.splitlines()[1].endswith(" ip daddr @pods_1_4 udp dport { 53 } accept")


def test_group_drops_what_no_chain_accepts() -> None:
    group = group_of("ingress", ["b", "a", "b"])
    text = changes_text("t", Changes(new_chains=(group,)))
    name = f"inet t {group.name}"
    assert text.splitlines() == [
        f"add chain {name}",
        f"add rule {name} jump a",
        f"add rule {name} jump b",
        f"add rule {name} drop",
    ]


def test_chains_and_sets_are_made_before_their_uses_and_removed_after_them() -> None:
    changes = Changes(
        new_sets=("pods_2_6", "ports_2_4"),
        added={"ingress_4": {"10.0.0.1": "new"}, "ports_2_4": {"10.0.0.1 . 80": ""}},
        removed={"ingress_4": ("10.0.0.1",)},
        old_chains=("old",),
        old_sets=("pods_1_4",),
    )
    assert changes_text("t", changes).splitlines() == [
        "add set inet t pods_2_6 { type ipv6_addr; }",
        "add set inet t ports_2_4 { type ipv4_addr . inet_service; }",
        "delete element inet t ingress_4 { 10.0.0.1 }",
        "add element inet t ingress_4 { 10.0.0.1 : goto new }",
        "add element inet t ports_2_4 { 10.0.0.1 . 80 }",
        "flush chain inet t old",
        "delete chain inet t old",
        "delete set inet t pods_1_4",
    ]


def test_whole_table_replaces_an_earlier_one_in_one_transaction() -> None:
    text = whole_table("t", (4, 6), RecordedTables((4, 6)).tables())
    assert text.startswith(removal("t"))
    assert "add map inet t ingress_6 { type ipv6_addr : verdict; }" in text
    assert "type filter hook forward priority -1; policy accept;" in text
    assert text.index("@self_4 accept") < text.index("saddr vmap @egress_4")

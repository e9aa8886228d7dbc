"""The nftables table of network policies as text for ``nft -f``. Pure.

The table has a chain in each hook that sees traffic of pods, after the translation of Services and ports:

* ``from_pods`` (forward) and ``from_pods_to_node`` (input): the pods' egress policies.
* ``to_pods`` (forward): their ingress policies. Packets of the node itself go through the hook ``output`` and
  are not filtered: the kubelet reaches its pods.

``accept`` ends one of these chains only, so a packet between two pods must pass both. Packets of connections
that were accepted once pass without a look at the policies. A verdict map leads from a pod's address to the
chains of its policies; a pod without policies is not in it. Traffic of a pod to itself, which leaves it only
through a Service or a host port, passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Address, IPv6Address

from podling.network.policy.chains import Chain, Group, Match
from podling.network.policy.tables import Changes, Tables, standing_sets
from podling.network.policy.values import INGRESS

FAMILY = "inet"
BASE_CHAINS = {"from_pods": ("forward", -2), "to_pods": ("forward", -1), "from_pods_to_node": ("input", -2)}
"""The hook and priority of each chain that the kernel enters."""

_ADDRESS_TYPES = {"4": "ipv4_addr", "6": "ipv6_addr"}
_FIELDS = {4: "ip", 6: "ip6"}


def whole_table(table: str, families: Iterable[int], tables: Tables) -> str:
    """Return the transaction that puts the table in place of any earlier one."""
    families = tuple(families)
    standing = set(standing_sets(families))
    changes = Changes(
        new_sets=tuple(name for name in tables.sets if name not in standing),
        new_chains=tuple(tables.chains.values()),
        added={name: elements for name, elements in tables.sets.items() if elements},
    )
    parts = [f"table {FAMILY} {table} {{}}", f"delete table {FAMILY} {table}", f"add table {FAMILY} {table}"]
    parts += [_new_set(table, name) for name in standing_sets(families)]
    parts += _base_chains(table, families)
    return "\n".join(parts) + "\n" + changes_text(table, changes)


def removal(table: str) -> str:
    """Return the transaction that removes the table; it succeeds without one."""
    return f"table {FAMILY} {table} {{}}\ndelete table {FAMILY} {table}\n"


def changes_text(table: str, changes: Changes) -> str:
    """Return the transaction that carries the changes out."""
    return "".join(f"{line}\n" for line in _changes(f"{FAMILY} {table}", table, changes))


def _changes(where: str, table: str, changes: Changes) -> Iterator[str]:
    yield from (_new_set(table, name) for name in changes.new_sets)
    yield from (f"add chain {where} {chain.name}" for chain in changes.new_chains)
    for chain in changes.new_chains:
        yield from (f"add rule {where} {chain.name} {rule}" for rule in _rules(chain))
    for name, elements in changes.removed.items():
        yield f"delete element {where} {name} {{ {', '.join(elements)} }}"
    for name, added in changes.added.items():
        yield f"add element {where} {name} {{ {_elements(added)} }}"
    yield from (f"flush chain {where} {name}" for name in changes.old_chains)
    yield from (f"delete chain {where} {name}" for name in changes.old_chains)
    yield from (f"delete set {where} {name}" for name in changes.old_sets)


def _elements(elements: Mapping[str, str]) -> str:
    return ", ".join(f"{key} : goto {verdict}" if verdict else key for key, verdict in elements.items())


def _new_set(table: str, name: str) -> str:
    kind, address = name.partition("_")[0], _ADDRESS_TYPES[name[-1]]
    if kind in ("ingress", "egress"):
        return f"add map {FAMILY} {table} {name} {{ type {address} : verdict; }}"
    more = {"self": f" . {address}", "ports": " . inet_service"}.get(kind, "")
    return f"add set {FAMILY} {table} {name} {{ type {address}{more}; }}"


def _base_chains(table: str, families: tuple[int, ...]) -> Iterator[str]:
    for name, (hook, priority) in BASE_CHAINS.items():
        head = f"type filter hook {hook} priority {priority}; policy accept;"
        yield f"add chain {FAMILY} {table} {name} {{ {head} }}"
    for name, rules in base_rules(families).items():
        yield from (f"add rule {FAMILY} {table} {name} {rule}" for rule in rules)


def base_rules(families: Iterable[int]) -> dict[str, list[str]]:
    """Return the rules of the chains that the kernel enters, by the chain's name."""
    families = tuple(families)
    known = "ct state established,related accept"
    own = [f"{_FIELDS[each]} saddr . {_FIELDS[each]} daddr @self_{each} accept" for each in families]
    egress = [f"{_FIELDS[each]} saddr vmap @egress_{each}" for each in families]
    ingress = [f"{_FIELDS[each]} daddr vmap @ingress_{each}" for each in families]
    return {
        "from_pods": [known, *own, *egress],
        "to_pods": [known, *own, *ingress],
        "from_pods_to_node": [known, *egress],
    }


def _rules(chain: Chain | Group) -> Iterator[str]:
    if isinstance(chain, Group):
        yield from (f"jump {name}" for name in chain.chains)
        yield "drop"
        return
    for match in chain.matches:
        yield f"{_conditions(chain.direction, match)}accept"


def _conditions(direction: str, match: Match) -> str:
    parts = []
    if match.peers or match.ranges:
        peer = f"{_FIELDS[match.family]} {'saddr' if direction == INGRESS else 'daddr'}"
        parts.append(f"{peer} {f'@{match.peers}' if match.peers else _address_ranges(match)}")
    protocol = match.protocol.lower()
    if match.targets:
        parts.append(f"meta l4proto {protocol} {_FIELDS[match.family]} daddr . th dport @{match.targets}")
    elif match.ports:
        ports = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in match.ports)
        parts.append(f"{protocol} dport {{ {ports} }}")
    elif protocol:
        parts.append(f"meta l4proto {protocol}")
    return "".join(f"{part} " for part in parts)


def _address_ranges(match: Match) -> str:
    make = IPv4Address if match.family == 4 else IPv6Address
    texts = (str(make(a)) if a == b else f"{make(a)}-{make(b)}" for a, b in match.ranges)
    return f"{{ {', '.join(texts)} }}"

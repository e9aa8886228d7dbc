"""Options of policies: their booleans, and those of the topology manager. Pure.

Upstream: ``pkg/kubelet/cm/topologymanager/policy_options.go``.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

PREFER_CLOSEST = "prefer-closest-numa-nodes"
MAX_ALLOWABLE = "max-allowable-numa-nodes"
MAX_NUMA_NODES = 8
"""The number of NUMA nodes beyond which merging, which tries all combinations, would take too long."""

_TRUE, _FALSE = ("1", "t", "T", "TRUE", "true", "True"), ("0", "f", "F", "FALSE", "false", "False")


def parse_bool(name: str, text: str) -> bool:
    """Return an option's value, as Go's ``strconv.ParseBool`` reads it. Raises ``ValueError``."""
    if text not in _TRUE + _FALSE:
        raise ValueError(
            f'bad value for option "{name}": strconv.ParseBool: parsing "{text}": invalid syntax'
        )
    return text in _TRUE


class TopologyOptions(Struct, frozen=True):
    """The preference for NUMA nodes near each other, and the number of nodes beyond which no policy works."""

    prefer_closest: bool = False
    max_numa_nodes: int = MAX_NUMA_NODES


def parse_topology_options(given: Mapping[str, str]) -> TopologyOptions:
    """Return the options. Raises ``ValueError`` for one that is unknown or has a wrong value."""
    unknown = sorted(set(given) - {PREFER_CLOSEST, MAX_ALLOWABLE})
    if unknown:
        raise ValueError(f'unknown Topology Manager Policy option: "{unknown[0]}"')
    closest = parse_bool(PREFER_CLOSEST, given.get(PREFER_CLOSEST, "false"))
    return TopologyOptions(closest, _max_numa_nodes(given.get(MAX_ALLOWABLE, str(MAX_NUMA_NODES))))


def _max_numa_nodes(text: str) -> int:
    if not (text.isascii() and text.removeprefix("-").removeprefix("+").isdigit()):
        raise ValueError(
            f'unable to convert policy option to integer "{MAX_ALLOWABLE}": '
            f'strconv.Atoi: parsing "{text}": invalid syntax'
        )
    if int(text) < MAX_NUMA_NODES:
        raise ValueError(f'the minimum value of "{MAX_ALLOWABLE}" should not be less than {MAX_NUMA_NODES}')
    return int(text)

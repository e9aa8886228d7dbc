"""JSON names of the kubelet's configuration: ``imageGCHighThresholdPercent`` of its snake_case. Pure."""

from __future__ import annotations

_UPPER = {
    word.lower(): word
    for word in (
        "API",
        "CA",
        "CFS",
        "CIDR",
        "CPU",
        "DNS",
        "GC",
        "ID",
        "OOM",
        "QOS",
        "QPS",
        "TLS",
        "TTL",
        "URL",
    )
} | {"cpus": "CPUs", "iptables": "IPTables"}
"""Words that Go writes in capitals, except at the beginning of a name."""


def json_name(attribute: str) -> str:
    """Return the name of a field in files, for its attribute in snake case."""
    first, *others = attribute.split("_")
    return first + "".join(_UPPER.get(word, word[:1].upper() + word[1:]) for word in others)

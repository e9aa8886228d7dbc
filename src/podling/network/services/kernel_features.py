"""The features of the kernel's nftables without which Services are not forwarded.

``nft --check`` lets the kernel examine a rule, and load the modules for it, without changing anything.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable

from msgspec import Struct

_TABLE = "podling_check"
_SECONDS = 10


class Feature(Struct, frozen=True):
    """One feature, the kernel's module that has it, and a rule that needs it."""

    name: str
    module: str
    hook: str
    rule: str


_NAT = "type nat hook output priority -100;"
_NAT_AFTER = "type nat hook postrouting priority 100;"
_FILTER = "type filter hook output priority 0;"

FEATURES = (
    Feature("nat", "nft_nat", _NAT, "meta l4proto tcp dnat to 192.0.2.1:80"),
    Feature("masq", "nft_masq", _NAT_AFTER, "masquerade fully-random"),
    Feature("numgen", "nft_numgen", _FILTER, "numgen random mod 2 vmap { 0 : accept, 1 : accept }"),
    Feature("fib", "nft_fib_ipv4", _FILTER, "fib daddr type local accept"),
    Feature("reject", "nft_reject_ipv4", _FILTER, "reject"),
    Feature("ct", "nft_ct", _FILTER, "ct state new accept"),
)


def text_of(feature: Feature) -> str:
    """Return the ruleset that shows whether the kernel has a feature."""
    return f"""add table ip {_TABLE}
add chain ip {_TABLE} c {{ {feature.hook} }}
add rule ip {_TABLE} c {feature.rule}
"""


def missing_features(accepts: Callable[[str], bool]) -> list[Feature]:
    """Return the features that the kernel lacks; ``accepts`` examines a ruleset."""
    return [feature for feature in FEATURES if not accepts(text_of(feature))]


def kernel_accepts(text: str) -> bool:
    """Return whether the kernel accepts a ruleset. Blocking; raises ``OSError`` if ``nft`` cannot run."""
    try:
        done = subprocess.run(
            ["nft", "--check", "-f", "-"],
            input=text.encode(),
            check=False,
            capture_output=True,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise OSError(str(error)) from error
    return done.returncode == 0

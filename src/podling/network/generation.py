"""The generation of the machine's nftables rules: a number that rises with every change by any program.

Reading it costs one system call pair, so that a node notices foreign changes without listing its tables.
Source: linux/netfilter/nf_tables.h.
"""

from __future__ import annotations

import socket
import struct

from podling.network.netlink.wire import attributes, messages

_NETLINK_NETFILTER = 12
_NLM_F_REQUEST = 0x1
_NFNL_SUBSYS_NFTABLES = 10
_NFT_MSG_NEWGEN = _NFNL_SUBSYS_NFTABLES << 8 | 15
_NFT_MSG_GETGEN = _NFNL_SUBSYS_NFTABLES << 8 | 16
_NFTA_GEN_ID = 1
_NETFILTER_HEADER = 4
_TIMEOUT_SECONDS = 5.0


def generation() -> int:
    """Return the rules' generation in the calling thread's network namespace. Raises ``OSError``."""
    with socket.socket(
        socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_NETFILTER
    ) as kernel:
        kernel.settimeout(_TIMEOUT_SECONDS)
        kernel.bind((0, 0))
        body = bytes(_NETFILTER_HEADER)
        kernel.send(struct.pack("=IHHII", 16 + len(body), _NFT_MSG_GETGEN, _NLM_F_REQUEST, 1, 0) + body)
        for kind, payload in messages(kernel.recv(8192)):
            if kind == _NFT_MSG_NEWGEN:
                found = dict(attributes(payload[_NETFILTER_HEADER:]))
                return int.from_bytes(found[_NFTA_GEN_ID], "big")
    raise OSError("the kernel does not say the generation of its nftables rules")

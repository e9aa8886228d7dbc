"""NetworkPolicies of one node: compiled into sets and chains, written to nftables, kept in place.

``policies`` reads an API object into selections, ranges and ports; ``chains`` makes rules of the kernel
from them; ``index`` follows pods, namespaces and policies, and knows the tables that they require; ``tables``
holds the tables and records their changes; ``rendering`` writes changes for nft. These five are pure.
``inputs`` follows the API and the node's leases, ``kernel`` writes the nftables table and finds damage, and
``enforcement`` runs both and is the gate of the pod network.
"""

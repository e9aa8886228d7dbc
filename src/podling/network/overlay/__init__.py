"""Packets between the pods of nodes on different machines: tunnels (VXLAN) or direct routes.

Here belongs what leads to other machines: the tunnel device, its forwarding and neighbour entries, routes to
other nodes' blocks of pod addresses, the nftables table that admits only known peers, and the node's
``NetworkUnavailable`` condition. Not here: the pods of this machine (``podling.network.pod_network``), and
the choice of blocks (``podling.controllers.nodes.node_ipam``).
"""

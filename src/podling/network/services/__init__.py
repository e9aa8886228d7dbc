"""The service proxy of a node: connections to Services reach their endpoints, by rules in the kernel.

Here belong the decisions (which endpoints a Service has on this node, which rules follow), their comparison
with what the kernel holds, the health checks of load balancers, and the loop that carries changes out. No
packet passes through Python, and the rules stay when this process ends.

Upstream: ``pkg/proxy`` with its nftables mode. The way from objects to rules:

    Service, EndpointSlice --(service_ports, endpoint_slices)--> records
    --(topology, rendering)--> ServiceRules --(rule_table)--> Transaction --(messages)--> kernel
"""

"""How packets reach pods: the pod network, services, and names.

What belongs here: addresses, links, routes, address translation and DNS on a node. What does not: which
pod runs where, and what a Service selects (``podling.controllers`` writes that down as EndpointSlices).
``PodNetwork``, which ``pod_network.py`` implements, is defined by ``podling.runtime.base``.
"""

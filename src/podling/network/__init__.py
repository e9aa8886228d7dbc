"""The pod network of a node: addresses, links, routes and address translation.

Not here: the pods of a node, and the endpoints of a Service (``podling.controllers`` keeps EndpointSlices).
``PodNetwork``, which ``pod_network.py`` implements, is defined by ``podling.runtime.base``.
"""

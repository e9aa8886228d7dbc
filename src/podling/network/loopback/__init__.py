"""Services without address translation: listeners on the machine's loopback pass connections to endpoints.

For the runtime ``process``, whose pods have the machine's own network. Not here: the proxy in the kernel, for
pods with a network of their own (``podling.network.services``), whose records this one shares.
"""

"""The identity of a node on another machine: finding its cluster, and its certificates.

A machine that knows an address, a token and a hash finds the cluster (``discovery``), and the token requests
the first certificate (``tls_bootstrap``). From then on the node has an identity of its own, which it renews
(``certificate_manager``).
"""

"""Cluster DNS of one node: a server process, and the loop of the node that starts it and keeps it informed.

Here belong the names that a cluster answers (Kubernetes DNS specification 1.1.0, CoreDNS' ``kubernetes``
plugin), the forwarding of all other names, and the process that does both. ``ClusterDns`` runs in the
node's process. ``server_process`` is the other one: it imports as little as possible.

The server is a process of its own, so that containers resolve names while Podling is down. It keeps a
journal of the records on a file system in memory, and starts from it without the API server.

Not here: the translation of the Service's cluster IP (``network/services``), the Service ``kube-dns`` and
its EndpointSlices (``podling.controllers.endpoints.cluster_dns``), ``resolv.conf`` of pods
(``podling.kubelet``).
"""

"""A node on another machine than its cluster's: its data directory, its process, and how it leaves.

The directory has the form of a cluster's, without a store: ``node.json`` names the cluster, ``pki`` holds the
node's own certificates, ``images`` and ``nodes`` are those of any node.
"""

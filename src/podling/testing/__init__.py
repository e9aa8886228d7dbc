"""Clusters for tests: small, in memory, on virtual time, from the real parts.

Here belong the in-memory control plane and the fixtures that hand it to tests, ours and our users'. Fakes
do not belong here: what a test talks to is the server itself.
"""

from podling.testing.control_plane import ControlPlane, memory_cluster

__all__ = ["ControlPlane", "memory_cluster"]

"""Clusters for tests: small, in memory, on virtual time, from the real parts.

Here belongs the control plane in memory, for our tests and our users'. Fakes do not: what a test talks to
is the server itself.
"""

from podling.testing.control_plane import ControlPlane, memory_cluster

__all__ = ["ControlPlane", "memory_cluster"]

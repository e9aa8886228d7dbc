"""Mounts made on the node for containers: sources of binds, and mounts whose owners are mapped."""

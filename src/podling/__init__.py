"""Podling: Kubernetes' pods, nodes and the loops around them, whole, in Python."""

__version__ = "0.1.0"

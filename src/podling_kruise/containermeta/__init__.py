"""The environment of containers that is metadata of their pods, kept up to date by their node.

Upstream: ``pkg/daemon/containermeta``.
"""

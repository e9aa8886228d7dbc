"""Advanced DaemonSets: the kind, its admission, and its controller.

Upstream: ``pkg/controller/daemonset``.
"""

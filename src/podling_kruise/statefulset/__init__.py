"""Advanced StatefulSets: the kind, its admission, and its controller.

Upstream: ``pkg/controller/statefulset``.
"""

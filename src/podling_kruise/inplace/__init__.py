"""The in-place update engine: whether a pod can be updated in place, in which steps, and when that is done.

Decisions are pure functions over pods and revisions; ``pod_updates`` alone writes.
Upstream: ``pkg/util/inplaceupdate``.
"""

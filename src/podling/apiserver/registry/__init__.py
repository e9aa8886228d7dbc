"""Every verb on every stored kind: reads, writes, watches, and the rules that all kinds share.

Nothing here knows HTTP; what one kind adds stands in ``apiserver.kinds``.
Upstream: ``k8s.io/apiserver/pkg/registry``.
"""

"""The Common Expression Language: parsed, checked for types and costs, compiled to functions, run in bounds.

``programs`` is the door; schemas' rules and admission go through it.
Upstream: ``cel-go`` and ``k8s.io/apiserver/pkg/cel``.
"""

"""The Common Expression Language: parsed, checked for types and costs, compiled to functions, run in bounds.

``programs`` is the entry point of schemas' rules and of admission.
Upstream: ``cel-go`` and ``k8s.io/apiserver/pkg/cel``.
"""

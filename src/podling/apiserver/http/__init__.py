"""The HTTP side of the API server: requests into typed values, and values into responses.

``resource_paths``, ``request_info`` and ``options`` read a request; ``negotiation``, ``representations`` and
``replies`` write its response; the ``*_handlers`` join both to the registry.
Upstream: ``k8s.io/apiserver/pkg/endpoints``.
"""

"""Authentication, authorisation, the certificate authority, and the roles of a new cluster.

Upstream: ``k8s.io/apiserver/pkg/authentication``, ``pkg/authorization`` and ``plugin/pkg/auth``.
"""

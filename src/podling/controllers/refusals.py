"""Refusals that a controller expects and need not try again."""

from __future__ import annotations

from podling.machinery.errors import ApiError


def is_namespace_terminating(error: BaseException) -> bool:
    """Return whether an object was refused because its namespace is going away."""
    if not isinstance(error, ApiError) or error.status.details is None:
        return False
    return any(cause.reason == "NamespaceTerminating" for cause in error.status.details.causes)

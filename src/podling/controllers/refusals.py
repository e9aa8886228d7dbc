"""Failed requests: refusals that a controller expects, and failures that do not stop it at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from podling.client.base import Unreachable
from podling.machinery.errors import ApiError


def is_namespace_terminating(error: BaseException) -> bool:
    """Return whether an object was refused because its namespace is going away."""
    if not isinstance(error, ApiError) or error.status.details is None:
        return False
    return any(cause.reason == "NamespaceTerminating" for cause in error.status.details.causes)


@contextmanager
def collected(failures: list[Exception]) -> Iterator[None]:
    """Add a failed request to ``failures`` and end the block: others of its kind may still succeed."""
    try:
        yield
    except (ApiError, Unreachable) as error:
        failures.append(error)

"""Errors of runtimes: callers catch them with every implementation."""

from __future__ import annotations

from collections.abc import Awaitable


class RuntimeFailure(Exception):
    """The runtime could not carry out a call. The text is shown to users in events and statuses."""


class NotFound(RuntimeFailure):
    """No such sandbox, container or image."""


class ImageFailure(RuntimeFailure):
    """An image could not be had. ``reason`` is the container's waiting reason.

    One of ``ErrImagePull``, ``InvalidImageName``, ``ImageInspectError``, ``RegistryUnavailable``,
    ``SignatureValidationFailed``.
    """

    def __init__(self, message: str, reason: str = "ErrImagePull") -> None:
        super().__init__(message)
        self.reason = reason


class ExecTimeout(RuntimeFailure):
    """A command run by ``exec`` did not end in time and was killed."""


class DeadlineExceeded(RuntimeFailure):
    """The runtime did not answer within the time that its caller gave it."""

    def __init__(self, message: str = "context deadline exceeded") -> None:
        super().__init__(message)


async def remove_all(what: str, *parts: Awaitable[object]) -> None:
    """Remove every part of ``what``, one after the other; one that stays does not keep the others.

    Raises ``RuntimeFailure`` for the first that stays.
    """
    failures: list[Exception] = []
    for part in parts:
        try:
            await part
        except (RuntimeFailure, OSError) as error:
            failures.append(error)
    if failures:
        raise RuntimeFailure(f"{what} cannot be removed: {failures[0]}") from failures[0]

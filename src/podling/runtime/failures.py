"""How runtimes fail: what callers may catch, whichever implementation they talk to."""

from __future__ import annotations


class RuntimeFailure(Exception):
    """The runtime could not do what was asked. The text is shown to users in events and statuses."""


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

"""Failures of one pod: exceptions, and their texts in events and statuses."""

from __future__ import annotations

from podling.runtime.failures import DeadlineExceeded


def rpc_text(error: Exception) -> str:
    """Return the failure's text in events on sandboxes and on killing; a missed deadline has its code."""
    prefix = "rpc error: code = DeadlineExceeded desc = "
    return f"{prefix if isinstance(error, DeadlineExceeded) else ''}{error}"


def os_text(error: OSError) -> str:
    """Return a failure of the machine in Kubernetes' form: ``/data/x: no space left on device``."""
    text = (error.strerror or str(error) or type(error).__name__).lower()
    return f"{error.filename}: {text}" if error.filename else text


class StartFailure(Exception):
    """A container could not be started. ``reason`` is its waiting reason, the text its message."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class VolumeFailure(Exception):
    """A volume could not be set up (yet)."""

    def __init__(self, volume: str, message: str) -> None:
        super().__init__(message)
        self.volume = volume
        self.message = message


class WaitingVolume(VolumeFailure):
    """The volume's claim is missing, not bound, or of the wrong kind: the pod waits for it."""


class StaleVolume(VolumeFailure):
    """The volume is set up, but its content could not be compared with its source."""


class MissingReference(Exception):
    """A ConfigMap, Secret or key that the pod needs is missing. The text is Kubernetes' own."""

"""What can go wrong with one pod, in the terms in which it is shown."""

from __future__ import annotations

from podling.runtime.failures import DeadlineExceeded


def rpc_text(error: Exception) -> str:
    """The failure as events on sandboxes and on killing show it, where a missed deadline has its code."""
    prefix = "rpc error: code = DeadlineExceeded desc = "
    return f"{prefix if isinstance(error, DeadlineExceeded) else ''}{error}"


def os_text(error: OSError) -> str:
    """A failure of the machine as Kubernetes' texts show it: ``/data/x: no space left on device``."""
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


class StaleVolume(VolumeFailure):
    """A volume is there, but what it shows could not be compared with its source."""


class MissingReference(Exception):
    """A ConfigMap, Secret or key that the pod needs is not there. The text is Kubernetes' own."""

"""The receiver of what happens during a decision, for metrics. Pure."""

from __future__ import annotations


class Measures:
    """Receives what a decision does, to measure it. The base measures nothing.

    ``sampled``: single plugins are measured, too.
    """

    sampled = False

    def ended(self, point: str, status: str) -> None:
        """Receive the end of an extension point of Kubernetes' framework, with its status."""

    def mark(self) -> None:
        """Receive the begin of a plugin."""

    def ran(self, plugin: str, point: str, status: str) -> None:
        """Receive the end of a plugin."""


NO_MEASURES = Measures()

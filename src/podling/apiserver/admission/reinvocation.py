"""Reinvocation of webhooks and policies after a later change of the object.

Upstream: ``reinvocationcontext.go`` in ``apiserver/pkg/admission/plugin/webhook/mutating``.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from podling.apiserver.admission.base import AdmissionRequest, Rounds


class ReinvocationContext:
    """One plugin's record of its webhooks or policies in the first round, for the second round."""

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds
        self._invoked: set[Hashable] = set()
        """Reinvocable webhooks or policies that were invoked since the last change."""
        self._due: set[Hashable] = set()
        """Webhooks or policies to invoke in the second round."""
        self._last_output: Any = None

    @staticmethod
    def of(request: AdmissionRequest, name: str) -> ReinvocationContext:
        """Return the context of the plugin ``name``; a change by other plugins between the rounds counts."""
        notes = request.rounds.notes
        found: ReinvocationContext | None = notes.get(name)
        if found is None:
            found = notes[name] = ReinvocationContext(request.rounds)
        elif found._last_output != request.object:
            found._require_reinvocation()
        return found

    def should_invoke(self, key: Hashable) -> bool:
        """Return whether to invoke it: in the second round, only if it ran before a later change."""
        return not self._rounds.again or key in self._due

    def record_change(self) -> None:
        """Record a change of the object, which requires a second round."""
        self._require_reinvocation()
        self._rounds.needed = True

    def record_invocation(self, key: Hashable) -> None:
        """Record the invocation of a reinvocable webhook or policy."""
        self._invoked.add(key)

    def record_output(self, obj: Any) -> None:
        """Record the object after the plugin's last change."""
        self._last_output = obj

    def _require_reinvocation(self) -> None:
        self._due |= self._invoked
        self._invoked.clear()

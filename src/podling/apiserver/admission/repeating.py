"""Who is asked a second time, after somebody else changed the object. One for webhooks, one for policies.

Upstream: ``reinvocationcontext.go`` in ``apiserver/pkg/admission/plugin/webhook/mutating``.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from podling.apiserver.admission.base import Request, Rounds


class Repeating:
    """What one plugin remembers from the first round to the second."""

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds
        self._asked: set[Hashable] = set()
        """Who wishes to be asked again, and was asked since the last change."""
        self._again: set[Hashable] = set()
        self._made: Any = None

    @staticmethod
    def of(request: Request, name: str) -> Repeating:
        """The memory of the plugin ``name``; a change that others made between the rounds counts."""
        notes = request.rounds.notes
        found: Repeating | None = notes.get(name)
        if found is None:
            found = notes[name] = Repeating(request.rounds)
        elif found._made != request.object:
            found._due()
        return found

    def asks(self, key: Hashable) -> bool:
        """Return whether this one is asked: in the second round only who was before, and missed something."""
        return not self._rounds.again or key in self._again

    def changed(self) -> None:
        self._due()
        self._rounds.needed = True

    def asked(self, key: Hashable) -> None:
        """This one was asked and wishes to be again."""
        self._asked.add(key)

    def made(self, obj: Any) -> None:
        """The plugin is done, and ``obj`` is what came of it."""
        self._made = obj

    def _due(self) -> None:
        self._again |= self._asked
        self._asked.clear()

"""The assertions of a scenario while it runs, and what became of them."""

from __future__ import annotations

from msgspec import Struct

from podling.machinery.durations import go_duration
from podling.sim.changes import Change
from podling.sim.conditions import Judge, judge_of
from podling.sim.scenario import Assertion
from podling.sim.scenario_parts import Condition


class Result(Struct, frozen=True):
    """The outcome of an assertion. ``at``: the seconds of the run at which it was decided.

    ``is_decided`` is false where the run was too short to say anything.
    """

    name: str
    passed: bool
    at: float
    text: str
    is_decided: bool = True


class AssertionWatch:
    """Follows one assertion. ``result`` is None until it is decided."""

    def __init__(self, assertion: Assertion) -> None:
        self.assertion = assertion
        self.result: Result | None = None
        self._judge: Judge = judge_of(_condition(assertion))

    @property
    def deadline(self) -> float | None:
        """Return the second at which ``eventually`` is decided; None if that is the end."""
        each = self.assertion
        if each.eventually is None or each.within is None:
            return None
        return each.after + each.within

    def change(self, change: Change, seconds: float) -> None:
        """Take a change into account."""
        if self._judge.note(change):
            self.look(seconds)

    def look(self, seconds: float) -> None:
        """Decide what can be decided at this second."""
        each = self.assertion
        if self.result is not None or seconds < each.after or each.at_the_end is not None:
            return
        if each.eventually is not None:
            if self._judge.holds():
                self._decide(True, seconds, f"held after {go_duration(seconds)}")
            elif self.deadline is not None and seconds >= self.deadline:
                self._decide(False, seconds, f"did not hold within {go_duration(seconds)}")
        elif self._judge.holds() is (each.never is not None):
            self._decide(False, seconds, f"{self._words()} at {go_duration(seconds)}")

    def end(self, seconds: float, *, is_complete: bool) -> None:
        """Decide what is left. A run that was cut short decides only what needs no end."""
        self.look(seconds)
        if self.result is not None:
            return
        each = self.assertion
        if not is_complete and (each.eventually is not None or each.at_the_end is not None):
            self.result = Result(each.name, False, seconds, "not decided: the run was interrupted")
        elif each.eventually is not None:
            self._decide(False, seconds, "never held")
        elif each.at_the_end is not None:
            held = self._judge.holds()
            self._decide(held, seconds, "held at the end" if held else "did not hold at the end")
        else:
            self._decide(True, seconds, "always held" if each.always is not None else "never held, as wanted")

    def _words(self) -> str:
        return "did not hold" if self.assertion.always is not None else "held"

    def _decide(self, passed: bool, seconds: float, text: str) -> None:
        if not passed and self.assertion.never is None:
            text = f"{text}:\n{self._judge.diagnosis()}"
        self.result = Result(self.assertion.name, passed, seconds, text)


def _condition(assertion: Assertion) -> Condition:
    found = assertion.always or assertion.never or assertion.eventually or assertion.at_the_end
    assert found is not None, "scenario_validation has seen that there is one"
    return found

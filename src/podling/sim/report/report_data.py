"""The facts of a run that its report shows. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from podling.sim.assertions import Result
from podling.sim.checkers.base import Violation
from podling.sim.runner import Outcome
from podling.sim.scenario import Scenario
from podling.sim.schedule import ActionRecord, name_of, verb_of
from podling.sim.statistics import PodTimes, Statistics, percentiles

BINS = 60
"""The number of intervals over which percentiles are computed."""


class Fault(Struct, frozen=True):
    """The time in which a fault lasted."""

    name: str
    begin: float
    end: float


class Interval(Struct, frozen=True):
    """Percentiles of the pods that were created in an interval; ``at`` is its middle."""

    at: float
    pods: int
    percentiles: dict[int, float]


class ReportData(Struct, frozen=True, kw_only=True):
    """One run.

    Args:
        file: the scenario's name.
        elapsed: real seconds.
    """

    file: str
    scenario: Scenario
    outcome: Outcome
    statistics: Statistics
    elapsed: float

    @property
    def seconds(self) -> float:
        """The length of the run, never zero."""
        return max(self.outcome.seconds, 1.0)

    def faults(self) -> list[Fault]:
        """Return the times of the faults that end by themselves."""
        lasting = _lasting(self.scenario)
        found = []
        for record in self.outcome.actions:
            if not record.error and (time := lasting.get(record.name)):
                found.append(Fault(record.name, record.at, min(record.at + time, self.seconds)))
        return found

    def moments(self) -> list[ActionRecord]:
        """Return the scenario's own actions, without its manifests."""
        return [each for each in self.outcome.actions if each.name != "manifests"]

    def scheduling(self) -> list[Interval]:
        """Return percentiles of the times from creation to binding, over time."""
        return self._intervals([(each, each.bound) for each in self.statistics.times.values()])

    def starts(self) -> list[Interval]:
        """Return percentiles of the times from creation to readiness, over time."""
        return self._intervals([(each, each.ready) for each in self.statistics.times.values()])

    def _intervals(self, pods: Sequence[tuple[PodTimes, float | None]]) -> list[Interval]:
        length = self.seconds / BINS
        bins: dict[int, list[float]] = {}
        for pod, end in pods:
            if end is not None:
                number = min(BINS - 1, int(max(0.0, pod.created) / length))
                bins.setdefault(number, []).append(end - pod.created)
        return [
            Interval((number + 0.5) * length, len(values), percentiles(sorted(values)))
            for number, values in sorted(bins.items())
        ]

    def failures(self) -> list[tuple[float, str, str]]:
        """Return everything that did not go well: second, name and text, in the order of time."""
        found = [(each.at, each.name, each.text) for each in self.outcome.results if not each.passed]
        found += [(each.at, each.name, each.error) for each in self.outcome.actions if each.error]
        found += [(self.second_of(each), each.checker, each.text) for each in self.outcome.violations]
        return sorted(found)

    def second_of(self, violation: Violation) -> float:
        return round((violation.at - self.statistics.begin).total_seconds(), 3)

    def results(self) -> Sequence[Result]:
        return self.outcome.results


def _lasting(scenario: Scenario) -> dict[str, float]:
    """Return the time that each action's fault lasts, by the action's name."""
    found = {}
    for number, action in enumerate(scenario.actions):
        lasting = getattr(getattr(action, verb_of(action)), "lasting", None)
        if lasting:
            found[name_of(action, number)] = float(lasting)
    return found

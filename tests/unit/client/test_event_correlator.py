"""The event correlator: repeats are counted, similar events aggregated, floods refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from podling.api.core_v1 import ObjectReference
from podling.client.event_correlator import Correlator, Create, Drop, Happening, Update

START = datetime(2026, 1, 1, tzinfo=UTC)
POD = ObjectReference(kind="Pod", api_version="v1", namespace="default", name="web", uid="u1")


def happening(
    message: str = "Back-off", seconds: float = 0, about: ObjectReference = POD, type: str = "Warning"
) -> Happening:
    return Happening(about, type, "BackOff", message, START + timedelta(seconds=seconds))


class Sink:
    """Writes what the correlator decides, remembering the final state of each event."""

    def __init__(self) -> None:
        self.correlator = Correlator()
        self.events: dict[str, tuple[str, int]] = {}

    def tell(self, what: Happening) -> Create | Update | Drop:
        decision = self.correlator.decide(what)
        if isinstance(decision, Create):
            name = f"event-{len(self.events)}"
            self.events[name] = (decision.message, decision.count)
            self.correlator.created(decision, name)
        elif isinstance(decision, Update):
            self.events[decision.name] = (decision.message, decision.instead.count)
        return decision


def test_the_same_event_again_raises_its_count() -> None:
    sink = Sink()
    for number in range(5):
        last = sink.tell(happening(seconds=number))
    assert sink.events == {"event-0": ("Back-off", 5)}
    assert isinstance(last, Update)
    assert last.instead.first == START
    assert last.instead.last == START + timedelta(seconds=4)


def test_another_object_type_or_message_is_another_event() -> None:
    sink = Sink()
    other = ObjectReference(kind="Pod", api_version="v1", namespace="default", name="web", uid="u2")
    sink.tell(happening())
    sink.tell(happening(about=other))
    sink.tell(happening(type="Normal"))
    sink.tell(happening(message="Back-off again"))
    assert [count for _, count in sink.events.values()] == [1, 1, 1, 1]


def test_the_tenth_similar_event_is_folded_and_so_are_those_after_it() -> None:
    sink = Sink()
    for number in range(12):
        sink.tell(happening(message=f"attempt {number}", seconds=number))
    assert len(sink.events) == 10
    assert sink.events["event-8"] == ("attempt 8", 1)
    assert sink.events["event-9"] == ("(combined from similar events): attempt 11", 3)


def test_similar_events_far_apart_are_not_folded() -> None:
    sink = Sink()
    for number in range(12):
        sink.tell(happening(message=f"attempt {number}", seconds=601 * number))
    assert len(sink.events) == 12


def test_a_flood_about_one_object_is_refused_until_its_allowance_refills() -> None:
    sink = Sink()
    decisions = [sink.tell(happening()) for _ in range(30)]
    assert sum(not isinstance(decision, Drop) for decision in decisions) == 25
    assert isinstance(sink.tell(happening(seconds=299)), Drop)
    # A refused event still counts: the next event written includes its count.
    assert isinstance(sink.tell(happening(seconds=301)), Update)
    assert sink.events == {"event-0": ("Back-off", 32)}


def test_an_event_that_is_gone_is_written_anew_with_its_count() -> None:
    sink = Sink()
    sink.tell(happening())
    update = sink.tell(happening(seconds=1))
    assert isinstance(update, Update)
    sink.correlator.created(update.instead, "event-new")
    again = sink.tell(happening(seconds=2))
    assert isinstance(again, Update)
    assert (again.name, again.instead.count) == ("event-new", 3)

"""When a schedule is due, as tables: fields, macros, days, time zones and changes of clocks."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.machinery.cron import ScheduleError, parse, time_zone

START = "2026-01-01 00:00"  # a Thursday


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("schedule", "after", "due"),
    [
        ("* * * * *", START, "2026-01-01 00:01"),
        ("*/15 * * * *", "2026-01-01 00:15", "2026-01-01 00:30"),
        ("5/20 * * * *", "2026-01-01 00:26", "2026-01-01 00:45"),
        ("0 9-17 * * mon-fri", "2026-01-02 17:00", "2026-01-05 09:00"),
        ("0 0 29 2 *", START, "2028-02-29 00:00"),
        ("0 0 13 * fri", START, "2026-01-02 00:00"),  # either day
        ("0 0 * * 0", START, "2026-01-04 00:00"),
        ("0 0 */10 * sat", START, "2026-01-03 00:00"),  # a star with a step restricts
        ("0 0 */1 * sat", START, "2026-01-03 00:00"),  # one without effect does not
        ("CRON_TZ=Asia/Kolkata 0 9 * * *", START, "2026-01-01 03:30"),
        ("0 0 31 * *", "2026-01-31 00:00", "2026-03-31 00:00"),
        ("30 4 1,15 * *", START, "2026-01-01 04:30"),
        ("0 0 1 jan,JUL *", "2026-01-01 00:00", "2026-07-01 00:00"),
        ("@hourly", START, "2026-01-01 01:00"),
        ("@weekly", START, "2026-01-04 00:00"),
        ("@yearly", START, "2027-01-01 00:00"),
        ("@every 90s", START, "2026-01-01 00:01:30"),
        ("@every 1h30m", START, "2026-01-01 01:30"),
    ],
)
def test_the_next_time_of_a_schedule(schedule: str, after: str, due: str) -> None:
    assert parse(schedule).next_after(at(after)) == at(due)


def test_a_time_that_never_comes_is_none() -> None:
    assert parse("0 0 31 2 *").next_after(at(START)) is None


@pytest.mark.parametrize(
    ("schedule", "zone", "after", "due"),
    [
        ("0 9 * * *", "Asia/Kolkata", START, "2026-01-01 03:30"),
        ("0 0 * * *", "America/New_York", START, "2026-01-01 05:00"),
        # 02:30 does not exist on 8 March 2026 in New York: the clock jumps from 2 to 3.
        ("30 2 * * *", "America/New_York", "2026-03-07 08:00", "2026-03-09 06:30"),
        # 01:30 comes twice on 1 November.
        ("30 1 * * *", "America/New_York", "2026-11-01 05:00", "2026-11-01 05:30"),
        ("30 1 * * *", "America/New_York", "2026-11-01 05:30", "2026-11-01 06:30"),
    ],
)
def test_schedules_follow_their_time_zone(schedule: str, zone: str, after: str, due: str) -> None:
    assert parse(schedule, time_zone(zone)).next_after(at(after)) == at(due)


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("", "empty spec string"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("* * * * 7", "end of range (7) above maximum (6): 7"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("*/2/3 * * * *", "too many slashes: */2/3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("*/-2 * * * *", "negative number (-2) not allowed: -2"),
        ("@often", "unrecognized descriptor: @often"),
        ("@every soon", 'failed to parse duration @every soon: time: invalid duration "soon"'),
        ("@every 5", 'failed to parse duration @every 5: time: missing unit in duration "5"'),
        ("@every 5y", 'failed to parse duration @every 5y: time: unknown unit "y" in duration "5y"'),
        ("TZ=Mars * * * * *", "provided bad location Mars: unknown time zone Mars"),
    ],
)
def test_invalid_schedule_is_refused_with_message(schedule: str, message: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse(schedule)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "schedule", ["@every 1h30m", "@every .5h", "@every -5s", "1,,2 * * * ?", "+5 * * * *"]
)
def test_unusual_schedule_is_accepted(schedule: str) -> None:
    parse(schedule)


def test_an_unknown_time_zone() -> None:
    with pytest.raises(ScheduleError, match="unknown time zone Mars/Olympus"):
        time_zone("Mars/Olympus")


@given(
    st.sampled_from(["*/7 * * * *", "0 */5 * * *", "15 3 * * 1-5", "0 0 1 * *", "@every 37s"]),
    st.sampled_from(["UTC", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"]),
    st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1)),
)
def test_the_next_time_lies_ahead_and_nothing_lies_between(
    schedule: str, zone: str, moment: datetime
) -> None:
    parsed, moment = parse(schedule, time_zone(zone)), moment.replace(tzinfo=UTC)
    due = parsed.next_after(moment)
    assert due is not None
    assert due > moment.replace(microsecond=0)
    if not parsed.every_seconds:
        middle = moment + (due - moment) / 2
        assert parsed.next_after(middle) == due

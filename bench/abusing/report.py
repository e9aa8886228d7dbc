"""The figures of a deed, and their table. Pure decisions over samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.abusing.innocent import Sample
from bench.abusing.work import Tally

GET_P99, GET_MAX, LIST_P99, EVENT_P99 = 0.1, 0.5, 0.25, 0.25
HEARTBEAT_LATE, MEMORY_MIB, RECOVERY = 2.0, 700.0, 2.0
QUIET_SECONDS = 1.0
"""So long without a slow request means that the server has recovered."""


@dataclass(frozen=True)
class Outcome:
    """The figures of one deed: of the innocent client, the nodes and the abuser. Times are in seconds."""

    deed: str
    title: str
    seconds: float
    get_p99: float
    get_max: float
    list_p99: float
    write_p99: float
    event_p99: float
    connect_max: float
    failures: dict[str, int]
    requests: int
    heartbeat: float
    not_ready: int
    memory_before: float
    memory_peak: float
    memory_hwm: float
    memory_after: float
    recovery: float | None
    codes: dict[str, int]
    broken: dict[str, int]
    received: int
    slowest: float

    def missed(self) -> list[str]:
        """Return the goals that were missed, by column."""
        goals = (
            ("GET p99", self.get_p99 <= GET_P99),
            ("GET max", self.get_max <= GET_MAX),
            ("LIST p99", self.list_p99 <= LIST_P99),
            ("event p99", self.event_p99 <= EVENT_P99),
            ("failed", not self.failures),
            ("heartbeat", self.heartbeat <= HEARTBEAT_LATE),
            ("NotReady", not self.not_ready),
            ("memory", self.memory_peak <= MEMORY_MIB),
            ("recovery", self.recovery is not None and self.recovery <= RECOVERY),
        )
        return [name for name, reached in goals if not reached]

    def plain(self) -> dict[str, Any]:
        return asdict(self) | {"missed": self.missed()}


def p99(values: Sequence[float]) -> float:
    """Return the value that 99 of 100 do not exceed; infinite where there is none at all."""
    return sorted(values)[min(len(values) - 1, len(values) * 99 // 100)] if values else float("inf")


def seconds_of(samples: Iterable[Sample], kind: str) -> list[float]:
    return [each.seconds for each in samples if each.kind == kind]


def failures_of(samples: Iterable[Sample]) -> dict[str, int]:
    return dict(Counter(f"{each.kind} {each.failure}" for each in samples if each.failure))


def is_bad(sample: Sample) -> bool:
    slow = sample.kind == "get" and sample.seconds > GET_P99
    return bool(sample.failure) or slow


def recovered_at(samples: Sequence[Sample], end: float, now: float) -> float | None:
    """Return the moment from which a second passed without a slow or failed request; None until then.

    Requests that began before the end of the load and are answered after it count.
    """
    bad = sorted(
        (max(each.began, end), each.began + each.seconds)
        for each in samples
        if is_bad(each) and each.began + each.seconds > end
    )
    at = end
    for began, ended in bad:
        if began - at >= QUIET_SECONDS:
            break
        at = max(at, ended)
    answered = max((each.began + each.seconds for each in samples if each.kind == "get"), default=end)
    return at if min(answered, now) - at >= QUIET_SECONDS else None


HEAD = (
    "deed", "GET p99 / max", "LIST p99", "event p99", "connect max", "failed", "heartbeat", "NotReady",
    "memory", "after", "recovery", "abuser: answers", "missed",
)  # fmt: skip


def row(outcome: Outcome) -> tuple[str, ...]:
    failed = sum(outcome.failures.values())
    codes = ", ".join(f"{code}: {count}" for code, count in sorted(outcome.codes.items()))
    taken = f"{outcome.received / 1e6 / outcome.seconds:.0f} MB/s"
    broken = ", ".join(f"{name}: {count}" for name, count in sorted(outcome.broken.items()))
    recovery = "-" if outcome.recovery is None else f"{outcome.recovery:.1f} s"
    return (
        outcome.deed,
        f"{milliseconds(outcome.get_p99)} / {milliseconds(outcome.get_max)}",
        milliseconds(outcome.list_p99),
        milliseconds(outcome.event_p99),
        milliseconds(outcome.connect_max),
        f"{failed} of {outcome.requests}",
        f"{outcome.heartbeat:.1f} s",
        "yes" if outcome.not_ready else "no",
        f"{outcome.memory_before:.0f} → {outcome.memory_peak:.0f} MiB",
        f"{outcome.memory_after:.0f} MiB",
        recovery,
        "; ".join(filter(None, (codes, broken, taken))),
        ", ".join(outcome.missed()) or "none",
    )


def milliseconds(seconds: float) -> str:
    if seconds == float("inf"):
        return "none answered"
    return f"{seconds * 1e3:.0f} ms" if seconds < 10 else f"{seconds:.0f} s"


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the outcomes as a table in Markdown."""
    lines = [HEAD, tuple("---" for _ in HEAD), *map(row, outcomes)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


@dataclass(frozen=True)
class Course:
    """All that was recorded during one deed, and its moments on the monotonic clock.

    Attributes:
        now: the end of the wait for the recovery.
        memory: moments with the memory in MiB.
        memory_hwm: the greatest resident memory of the processes, added up.
    """

    begin: float
    end: float
    now: float
    samples: Sequence[Sample]
    tally: Tally
    memory: Sequence[tuple[float, float]]
    memory_hwm: float


def outcome_of(deed: str, title: str, course: Course, *, heartbeat: float, not_ready: int) -> Outcome:
    """Return a deed's figures. Requests count that were in flight during the load."""
    begin, end, tally = course.begin, course.end, course.tally
    during = [each for each in course.samples if each.began < end and each.began + each.seconds > begin]
    before = [each for at, each in course.memory if at < begin] or [course.memory[0][1]]
    loaded = [each for at, each in course.memory if at >= begin] or before
    at = recovered_at(course.samples, end, course.now)
    return Outcome(
        deed=deed,
        title=title,
        seconds=end - begin,
        get_p99=p99(seconds_of(during, "get")),
        get_max=max(seconds_of(during, "get"), default=float("inf")),
        list_p99=p99(seconds_of(during, "list")),
        write_p99=p99(seconds_of(during, "write")),
        event_p99=p99(seconds_of(during, "event")),
        connect_max=max(seconds_of(during, "connect"), default=float("inf")),
        failures=failures_of(each for each in course.samples if each.began + each.seconds > begin),
        requests=len([each for each in during if each.kind != "event"]),
        heartbeat=heartbeat,
        not_ready=not_ready,
        memory_before=before[-1],
        memory_peak=max(loaded),
        memory_hwm=course.memory_hwm,
        memory_after=course.memory[-1][1],
        recovery=None if at is None else at - end,
        codes={str(code): count for code, count in tally.codes.items()},
        broken=dict(tally.failures),
        received=tally.received,
        slowest=tally.slowest,
    )

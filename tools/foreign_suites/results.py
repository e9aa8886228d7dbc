"""Counts of a suite's run, read from the JUnit report that pytest and node write alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tools.foreign_suites.suites import Excuse


@dataclass(frozen=True)
class Result:
    """The names of a run's tests, by outcome; ``seconds`` of the whole run.

    ``failed`` maps a test to the first line of its message. ``excused`` are failures that the suite excuses,
    with its reason.
    """

    passed: tuple[str, ...]
    skipped: tuple[str, ...]
    failed: Mapping[str, str]
    excused: Mapping[str, str]
    seconds: float

    @property
    def good(self) -> bool:
        """Return whether a test ran and none failed that had to pass."""
        return bool(self.passed) and not self.failed


def read_report(path: Path, excuses: Sequence[Excuse], seconds: float) -> Result:
    """Read a JUnit report. A run that wrote none has one failure, named after the report."""
    if not path.exists():
        return Result((), (), {path.stem: "the run ended without a report"}, {}, seconds)
    passed: list[str] = []
    skipped: list[str] = []
    failed: dict[str, str] = {}
    excused: dict[str, str] = {}
    for case in ElementTree.parse(path).iter("testcase"):
        name = "::".join(part for part in (case.get("classname"), case.get("name")) if part)
        trouble = next(
            (case.find(kind) for kind in ("failure", "error") if case.find(kind) is not None), None
        )
        if trouble is None:
            (passed if case.find("skipped") is None else skipped).append(name)
            continue
        message = _first_line(trouble.get("message") or trouble.text or "")
        excuse = next(
            (each for each in excuses if name.endswith(each.test) and each.message in message), None
        )
        if excuse is None:
            failed[name] = message
        else:
            excused[name] = excuse.reason
    # A test that fails at its end, too, is reported twice.
    return Result(
        tuple(name for name in passed if name not in failed), tuple(skipped), failed, excused, seconds
    )


def describe(name: str, result: Result) -> str:
    """Return a line with the counts, and one for each test that did not pass."""
    counts = f"{len(result.passed)} passed, {len(result.failed)} failed, {len(result.excused)} excused"
    lines = [f"{name}: {counts}, {len(result.skipped)} skipped in {result.seconds:.0f} s"]
    lines += [f"  failed      {test}: {text}" for test, text in result.failed.items()]
    lines += [f"  excused     {test}: {text}" for test, text in result.excused.items()]
    lines += [f"  skipped     {test}" for test in result.skipped]
    return "\n".join(lines)


def _first_line(text: str) -> str:
    stripped = text.strip()
    return stripped.splitlines()[0][:300] if stripped else "no message"

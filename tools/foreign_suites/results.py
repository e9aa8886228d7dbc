"""Counts of a suite's run, read from the JUnit report that pytest and node write alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree


@dataclass(frozen=True)
class Result:
    """The names of a run's tests, by outcome; ``seconds`` of the whole run.

    ``failed`` maps a test to the first line of its message. ``excused`` are failures that the suite's table
    lists as impossible, with the table's reason.
    """

    passed: tuple[str, ...]
    skipped: tuple[str, ...]
    failed: Mapping[str, str]
    excused: Mapping[str, str]
    seconds: float

    @property
    def good(self) -> bool:
        """Whether something ran, and nothing failed that had to pass."""
        return bool(self.passed) and not self.failed


def read_report(path: Path, impossible: Mapping[str, str], seconds: float) -> Result:
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
        reason = next((text for end, text in impossible.items() if name.endswith(end)), None)
        if trouble is None:
            (passed if case.find("skipped") is None else skipped).append(name)
        elif reason is not None:
            excused[name] = reason
        else:
            failed[name] = _first_line(trouble.get("message") or trouble.text or "")
    # A test that fails at its end, too, is reported twice.
    return Result(
        tuple(name for name in passed if name not in failed), tuple(skipped), failed, excused, seconds
    )


def describe(name: str, result: Result) -> str:
    """A line with the counts, and one for each test that did not pass."""
    counts = f"{len(result.passed)} passed, {len(result.failed)} failed, {len(result.excused)} impossible"
    lines = [f"{name}: {counts}, {len(result.skipped)} skipped in {result.seconds:.0f} s"]
    lines += [f"  failed      {test}: {text}" for test, text in result.failed.items()]
    lines += [f"  impossible  {test}: {text}" for test, text in result.excused.items()]
    lines += [f"  skipped     {test}" for test in result.skipped]
    return "\n".join(lines)


def _first_line(text: str) -> str:
    stripped = text.strip()
    return stripped.splitlines()[0][:300] if stripped else "no message"

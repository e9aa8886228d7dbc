"""Reports of foreign suites: every outcome is counted once, and no run without tests is good."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.foreign_suites.results import Result, describe, read_report
from tools.foreign_suites.suites import Excuse

REPORT = """<?xml version="1.0"?>
<testsuites><testsuite>
  <testcase classname="suite.test_a" name="test_one" time="1"/>
  <testcase classname="suite.test_a" name="test_two"><failure message="assert 1 == 2&#10;details"/></testcase>
  <testcase classname="suite.test_a" name="test_three"><skipped message="by hand"/></testcase>
  <testcase classname="suite.test_a" name="test_four"><error>no fixture</error></testcase>
  <testcase classname="suite.test_a" name="test_five"><failure message="too quick"/></testcase>
  <testcase classname="suite.test_a" name="test_six"/>
  <testcase classname="suite.test_a" name="test_six"><error message="at its end"/></testcase>
  <testcase name="named by node"/>
</testsuite></testsuites>
"""


@pytest.fixture
def result(tmp_path: Path) -> Result:
    report = tmp_path / "suite.xml"
    report.write_text(REPORT)
    return read_report(
        report,
        [Excuse("::test_five", "quick", "needs a slower server"), Excuse("::test_two", "other", "")],
        seconds=3,
    )


def test_each_test_is_counted_by_its_outcome(result: Result) -> None:
    assert result.passed == ("suite.test_a::test_one", "named by node")
    assert result.skipped == ("suite.test_a::test_three",)
    assert result.failed == {
        "suite.test_a::test_two": "assert 1 == 2",
        "suite.test_a::test_four": "no fixture",
        "suite.test_a::test_six": "at its end",
    }
    assert result.excused == {"suite.test_a::test_five": "needs a slower server"}
    assert not result.good


def test_the_description_names_every_test_that_did_not_pass(result: Result) -> None:
    assert describe("suite", result).splitlines() == [
        "suite: 2 passed, 3 failed, 1 excused, 1 skipped in 3 s",
        "  failed      suite.test_a::test_two: assert 1 == 2",
        "  failed      suite.test_a::test_four: no fixture",
        "  failed      suite.test_a::test_six: at its end",
        "  excused     suite.test_a::test_five: needs a slower server",
        "  skipped     suite.test_a::test_three",
    ]


def test_a_run_without_a_report_failed(tmp_path: Path) -> None:
    result = read_report(tmp_path / "suite.xml", [], seconds=1)
    assert not result.good
    assert result.failed == {"suite": "the run ended without a report"}


def test_a_run_without_tests_is_not_good(tmp_path: Path) -> None:
    report = tmp_path / "suite.xml"
    report.write_text("<testsuites><testsuite/></testsuites>")
    assert not read_report(report, [], seconds=1).good

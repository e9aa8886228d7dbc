"""The page of a report."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from msgspec.structs import replace

from podling.sim.report.page import page, verdict
from tests.support.reports import finished_run

EMPTY = {"br", "meta", "link", "img"}


class Reader(HTMLParser):
    """Reads a page; fails at elements that are not closed, or refer to another place."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.references: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in EMPTY:
            self.open.append(tag)
        self.references += [value or "" for name, value in attributes if name in ("href", "src")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_page_is_whole_and_refers_to_its_own_files_only() -> None:
    text = page(finished_run(), [("Pods", "by <phase>", "<svg></svg>")], ["pods.csv"])
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    assert reader.references == ["pods.csv"]
    assert "Angle &lt;brackets&gt; &amp; more" in text
    assert "by &lt;phase&gt;" in text
    assert "podling sim s.yaml --seed 3" in text


def test_verdict_names_the_first_failure() -> None:
    data = finished_run()
    assert verdict(data) == (False, "Failed: 2. scale at 1m2s, and 1 more.")
    good = replace(data.outcome, results=data.outcome.results[:1], actions=())
    text = "Passed: 1 assertions held, every action was done, no invariant was violated."
    assert verdict(replace(data, outcome=good)) == (True, text)


@pytest.mark.parametrize("results", [0, 1])
def test_interrupted_run_is_no_success(results: int) -> None:
    data = finished_run()
    cut = replace(data.outcome, is_complete=False, results=data.outcome.results[:results], actions=())
    good, text = verdict(replace(data, outcome=cut))
    assert not good
    assert text.startswith("Interrupted after 8m0s")

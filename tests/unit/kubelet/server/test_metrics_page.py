"""Prometheus' text format."""

from __future__ import annotations

from datetime import UTC, datetime

from podling.kubelet.server.metrics_page import Page, labels_of

KINDS = {
    "one_total": ("counter", "The first."),
    "two": ("histogram", "The second."),
    "none": ("gauge", "Not used."),
}


def test_page_has_a_head_for_each_family_with_samples() -> None:
    page = Page(KINDS)
    page.add("two", labels_of(le="+Inf"), 3, suffix="_bucket")
    page.add("one_total", "", 1.5, datetime(2026, 1, 1, tzinfo=UTC))
    page.add("one_total", labels_of(a="x"), 12345678901)
    assert page.text() == (
        "# HELP one_total The first.\n# TYPE one_total counter\n"
        'one_total 1.5 1767225600000\none_total{a="x"} 12345678901\n'
        "# HELP two The second.\n# TYPE two histogram\n"
        'two_bucket{le="+Inf"} 3\n'
    )


def test_moment_keeps_its_fraction_of_a_second() -> None:
    """Rounded up, a container's start would lie after its first sample."""
    page = Page(KINDS)
    page.add("none", "", datetime(2026, 1, 1, 0, 0, 0, 750_000, tzinfo=UTC).timestamp())
    assert "\nnone 1767225600.75\n" in page.text()


def test_page_without_samples_is_empty() -> None:
    assert Page(KINDS).text() == ""


def test_values_of_labels_are_escaped() -> None:
    assert labels_of(a='say "x"\n', b="\\") == 'a="say \\"x\\"\\n",b="\\\\"'

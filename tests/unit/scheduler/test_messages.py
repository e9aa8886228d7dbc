"""Messages about pods without a feasible node."""

from __future__ import annotations

import pytest

from podling.scheduler import messages

REASONS = {"Insufficient memory": 1, "Insufficient cpu": 2}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (messages.fit_error(0, {}), "0/0 nodes are available:"),
        (
            messages.fit_error(3, REASONS),
            "0/3 nodes are available: 1 Insufficient memory, 2 Insufficient cpu.",
        ),
        (
            messages.fit_error(10, {"Insufficient cpu": 10, "Too many pods": 9}),
            "0/10 nodes are available: 10 Insufficient cpu, 9 Too many pods.",
        ),
        (
            messages.fit_error(2, REASONS, hopeless="node(s) not found"),
            "0/2 nodes are available: node(s) not found.",
        ),
        (
            messages.fit_error(1, {"Insufficient cpu": 1}, preemption="preemption: no"),
            "0/1 nodes are available: 1 Insufficient cpu. preemption: no",
        ),
        (messages.not_in_candidates(["B", "A"]), "node(s) didn't satisfy plugin(s) [A B]"),
    ],
)
def test_message_reads_as_in_kubernetes(message: str, expected: str) -> None:
    assert message == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("x" * 1023, "x" * 1023),
        ("x" * 1024, "x" * 1024),
        ("x" * 1025, "x" * 1020 + " ..."),
        ("x" * 3000, "x" * 1020 + " ..."),
        ("\u00e9" * 512, "\u00e9" * 512),
        ("\u00e9" * 513, "\u00e9" * 510 + " ..."),
        ("x" + "\u00e9" * 512, "x" + "\u00e9" * 509 + " ..."),
        ("\U0001f600" * 1024, "\U0001f600" * 255 + " ..."),
    ],
)
def test_event_message_is_cut_to_1024_bytes(message: str, expected: str) -> None:
    assert messages.truncated(message) == expected


PRE_FILTER = "Node(s) failed PreFilter plugin FalsePreFilter"
POST_FILTER = "Error running PostFilter plugin FailedPostFilter"
ONE, TWO = "Node(s) failed Filter plugin FalseFilter-1", "Node(s) failed Filter plugin FalseFilter-2"


@pytest.mark.parametrize(
    ("nodes", "reasons", "hopeless", "preemption", "expected"),
    [
        (3, {PRE_FILTER: 3}, PRE_FILTER, "", f"0/3 nodes are available: {PRE_FILTER}."),
        (3, {}, PRE_FILTER, POST_FILTER, f"0/3 nodes are available: {PRE_FILTER}. {POST_FILTER}"),
        (3, {ONE: 3}, "", "", f"0/3 nodes are available: 3 {ONE}."),
        (3, {ONE: 3}, "", POST_FILTER, f"0/3 nodes are available: 3 {ONE}. {POST_FILTER}"),
        (3, {ONE: 2, TWO: 1}, "", "", f"0/3 nodes are available: 1 {TWO}, 2 {ONE}."),
        (3, {ONE: 2, TWO: 1}, "", POST_FILTER, f"0/3 nodes are available: 1 {TWO}, 2 {ONE}. {POST_FILTER}"),
        (
            1,
            {"Node failed Permit plugin Permit-1": 1},
            "",
            "",
            "0/1 nodes are available: 1 Node failed Permit plugin Permit-1.",
        ),
        (
            1,
            {"Node failed Reserve plugin Reserve-1": 1},
            "",
            "",
            "0/1 nodes are available: 1 Node failed Reserve plugin Reserve-1.",
        ),
    ],
)
def test_reasons_and_the_failure_of_preemption_are_joined(
    nodes: int, reasons: dict[str, int], hopeless: str, preemption: str, expected: str
) -> None:
    """The cases of upstream's ``TestFitError_Error``."""
    assert messages.fit_error(nodes, reasons, hopeless=hopeless, preemption=preemption) == expected

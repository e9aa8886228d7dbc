"""The list of controllers to run, as kube-controller-manager reads it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.controllers.enabled_controllers import ALIASES, NOT_HERE, enabled_names, entries_of, problems
from podling.controllers.registry import NAMES

ALL = set(NAMES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*", ALL),
        ("", set()),
        ("job-controller", {"job-controller"}),
        ("job-controller,cronjob-controller", {"job-controller", "cronjob-controller"}),
        ("*,-job-controller", ALL - {"job-controller"}),
        ("-job-controller,*", ALL - {"job-controller"}),
        ("-job-controller", set()),
        ("job-controller,-job-controller", {"job-controller"}),  # the first entry decides
        ("-job-controller,job-controller", set()),
        ("*,*", ALL),
        (" * , -job ", ALL - {"job-controller"}),
        ("podgc", {"pod-garbage-collector-controller"}),
        ("*,-selinux-warning-controller", ALL),
    ],
)
def test_controllers_flag_selects_controllers(text: str, expected: set[str]) -> None:
    assert set(enabled_names(text)) == expected
    assert problems(entries_of(text)) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("*,-jobs", '"jobs" is not in the list of known controllers'),
        ("deploy", '"deploy" is not in the list of known controllers'),
        ("--job-controller", '"-job-controller" is not in the list of known controllers'),
        ("-*", '"*" is not in the list of known controllers'),
        (
            "selinux-warning-controller",
            '"selinux-warning-controller" does not exist in Podling: it can only be switched off',
        ),
    ],
)
def test_unknown_names_are_refused(text: str, message: str) -> None:
    assert problems(entries_of(text)) == [message]


def test_old_names_lead_to_controllers_of_today() -> None:
    assert set(ALIASES.values()) <= ALL | NOT_HERE
    assert not NOT_HERE & ALL


@given(st.lists(st.sampled_from([*NAMES, *(f"-{name}" for name in NAMES), "*"])))
def test_controllers_start_in_their_order(entries: list[str]) -> None:
    found = enabled_names(",".join(entries))
    assert list(found) == [name for name in NAMES if name in found]

"""Samples of recorded requests: the choice is the same in every recording."""

from __future__ import annotations

import pytest

from tools.recorded_requests.recorder import is_chosen

KEYS = [f"create: v1/pods {number}" for number in range(1000)]


def test_every_request_is_sent_unless_samples_are_wanted() -> None:
    assert all(is_chosen(key, 1) for key in KEYS)


@pytest.mark.parametrize("every", [2, 5, 20])
def test_sample_has_about_one_of_every_n_requests(every: int) -> None:
    chosen = sum(is_chosen(key, every) for key in KEYS)
    assert len(KEYS) / every * 0.6 < chosen < len(KEYS) / every * 1.4


def test_choice_is_the_same_in_every_process() -> None:
    chosen = [key for key in KEYS[:40] if is_chosen(key, 20)]
    assert chosen == ["create: v1/pods 28", "create: v1/pods 37"]

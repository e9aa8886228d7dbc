"""Histories of containers: merging, checkpoints, expiry, settings of policies."""

from __future__ import annotations

from datetime import timedelta

import pytest

from podling.sim.loop import EPOCH
from podling_vpa.recommender.aggregates import Aggregate
from podling_vpa.recommender.histogram import UnreadableCheckpoint
from podling_vpa.recommender.settings import DEFAULT_SETTINGS
from podling_vpa.types import CheckpointStatus, ContainerPolicy

DAY = timedelta(days=1)


def history(*days: float) -> Aggregate:
    """Return a history with a sample on each of these days."""
    made = Aggregate(DEFAULT_SETTINGS, EPOCH)
    for day in days:
        made.add_cpu(1000, EPOCH + day * DAY)
        made.add_peak(10**9, EPOCH + day * DAY)
    return made


def test_merge_takes_the_earliest_and_the_latest_sample() -> None:
    made = history(2, 3)
    made.merge(history(1))
    made.merge(history())
    assert (made.first, made.last, made.count) == (EPOCH + DAY, EPOCH + 3 * DAY, 3)
    for share in (0.1, 0.5, 0.9):
        assert made.estimates(share) == history(1, 2, 3).estimates(share)


def test_checkpoint_is_loaded_as_it_was() -> None:
    made, again = history(1, 2, 3), history()
    again.load(made.checkpoint(EPOCH))
    assert (again.first, again.last, again.count) == (made.first, made.last, made.count)
    for share in (0.5, 0.9):
        assert again.estimates(share) == made.estimates(share)


def test_checkpoint_of_another_version_is_refused() -> None:
    with pytest.raises(UnreadableCheckpoint, match="unsupported checkpoint version v2"):
        history().load(CheckpointStatus(version="v2"))


@pytest.mark.parametrize(
    ("days", "now", "is_expired"), [((), 7, False), ((), 8, True), ((1,), 8, False), ((1,), 9, True)]
)
def test_history_expires_after_eight_days(days: tuple[float, ...], now: float, is_expired: bool) -> None:
    assert history(*days).is_expired(EPOCH + now * DAY) is is_expired


@pytest.mark.parametrize(("is_open", "ratio"), [(True, 1.5), (False, 1.2)])
def test_settings_of_a_policy_need_the_feature_gate(is_open: bool, ratio: float) -> None:
    made = history()
    policy = ContainerPolicy(oom_bump_up_ratio="1.5", controlled_resources=("cpu",))
    made.follow(policy, per_autoscaler=is_open)
    assert (made.oom_bump_up_ratio, made.resources) == (ratio, ("cpu",))

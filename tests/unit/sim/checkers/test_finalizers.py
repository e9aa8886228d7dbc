"""Objects that are removed with finalizers are found."""

from __future__ import annotations

import pytest

from podling.sim.checkers.finalizers import Finalizers
from tests.support.checked import History, pod


@pytest.mark.parametrize(("finalizers", "count"), [(["example.com/hold"], 1), ([], 0)])
def test_finalizers_hold_an_object(finalizers: list[str], count: int) -> None:
    history = History(Finalizers)
    history.write(pod(finalizers=finalizers))
    history.delete(pod(finalizers=finalizers))
    assert history.texts == ["pods/default/web was removed with example.com/hold"] * count

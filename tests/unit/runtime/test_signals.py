"""Signals have names that users write in many ways."""

from __future__ import annotations

import signal
import sys

import pytest

from podling.runtime.base import RuntimeFailure
from podling.runtime.signals import signal_number


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("SIGTERM", signal.SIGTERM),
        ("TERM", signal.SIGTERM),
        ("term", signal.SIGTERM),
        (" SigUsr1 ", signal.SIGUSR1),
        ("15", 15),
        ("9", 9),
    ],
)
def test_the_same_signal_has_many_spellings(name: str, number: int) -> None:
    assert signal_number(name) == number


@pytest.mark.skipif(sys.platform != "linux", reason="real-time signals are Linux'")
@pytest.mark.parametrize(
    ("name", "number"),
    [("SIGRTMIN", 34), ("RTMIN+3", 37), ("SIGRTMAX", 64), ("SIGRTMAX-14", 50)],
)
def test_real_time_signals_count_from_their_edges(name: str, number: int) -> None:
    assert signal_number(name) == number


@pytest.mark.parametrize("name", ["", "SIGNONE", "0", "65", "SIGRTMIN-1", "RTMAX+1", "SIG_DFL", "-9"])
def test_unknown_signal_is_refused(name: str) -> None:
    with pytest.raises(RuntimeFailure, match="unknown signal"):
        signal_number(name)

"""The kernel's table of network interfaces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from podling.runtime.figures import InterfaceFigures
from podling.runtime.proc_net import interfaces

TABLE = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop
    lo: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0
  eth0: 100 2 3 4 0 0 0 0 200 5 6 7 0 0 0 0
"""


def test_interfaces_have_counters_of_both_directions() -> None:
    assert interfaces(TABLE) == (
        InterfaceFigures(
            name="eth0",
            received_bytes=100,
            received_packets=2,
            received_errors=3,
            received_dropped=4,
            sent_bytes=200,
            sent_packets=5,
            sent_errors=6,
            sent_dropped=7,
        ),
    )


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert isinstance(interfaces(text), tuple)

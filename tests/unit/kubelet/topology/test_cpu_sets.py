"""Lists of CPUs in the kernel's notation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.kubelet.topology.cpu_sets import format_cpus, parse_cpus


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("", set()),
        ("5", {5}),
        ("1,2,3,4,5", {1, 2, 3, 4, 5}),
        ("1-5", {1, 2, 3, 4, 5}),
        ("1-2,3-5", {1, 2, 3, 4, 5}),
        ("5,4,3,2,1", {1, 2, 3, 4, 5}),
        ("3-3\n", {3}),
    ],
)
def test_list_of_cpus_is_read(text: str, cpus: set[int]) -> None:
    assert parse_cpus(text) == cpus


@pytest.mark.parametrize("text", [",", "1,", "a", "-1", "5-1", "1-2-3", "1--2", "٣"])
def test_text_that_is_no_list_of_cpus_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"CPU|range"):
        parse_cpus(text)


@given(st.frozensets(st.integers(0, 300)))
def test_written_list_reads_as_the_same_cpus(cpus: frozenset[int]) -> None:
    assert parse_cpus(format_cpus(cpus)) == cpus

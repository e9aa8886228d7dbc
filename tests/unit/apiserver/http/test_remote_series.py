"""Series of other processes beside those of this one."""

from __future__ import annotations

from podling.apiserver.http.remote_series import RemoteSeries
from podling.machinery.histograms import counters


def samples(family: object) -> dict[str, float]:
    return {each.labels["name"]: each.value for each in family.samples}  # type: ignore[attr-defined]


def test_series_of_the_same_labels_are_summed() -> None:
    remote = RemoteSeries()
    remote.add([counters("requests", "", ("name",), {("a",): 1, ("b",): 2})])
    remote.add([counters("requests", "", ("name",), {("b",): 4, ("c",): 8})])
    own = counters("requests", "", ("name",), {("b",): 16, ("d",): 32})
    remote.move_into(own)
    assert samples(own) == {"b": 22, "d": 32}
    (rest,) = remote.rest()
    assert samples(rest) == {"a": 1, "c": 8}


def test_family_in_parts_takes_each_series_once() -> None:
    remote = RemoteSeries()
    remote.add([counters("requests", "", ("name",), {("a",): 1, ("b",): 2})])
    for name, value in (("a", 1), ("b", 2)):
        part = counters("requests", "", ("name",), {(name,): 10})
        remote.move_into(part)
        assert samples(part) == {name: 10 + value}
    assert [family.samples for family in remote.rest()] == [[]]

"""Tables and the ages in them, as kubectl prints them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from podling.api import core_v1, meta_v1
from podling.machinery import tables
from podling.machinery.errors import ApiError

NOW = datetime(2020, 1, 1, tzinfo=UTC)
AGES = {
    -5: "<invalid>", -1: "0s", 0: "0s", 1: "1s", 119: "119s", 120: "2m", 121: "2m1s", 599: "9m59s",
    600: "10m", 10799: "179m", 10800: "3h", 10860: "3h1m", 28799: "7h59m", 28800: "8h", 172799: "47h",
    172800: "2d", 176400: "2d1h", 691199: "7d23h", 691200: "8d", 63071999: "729d", 63072000: "2y",
    63158400: "2y1d",
    252287999: "7y364d", 252288000: "8y", 400000000: "12y",
}  # fmt: skip


@pytest.mark.parametrize(("seconds", "text"), AGES.items())
def test_an_age_has_two_units_at_most(seconds: int, text: str) -> None:
    assert tables.human_duration(timedelta(seconds=seconds)) == text
    assert tables.translate_timestamp_since(NOW - timedelta(seconds=seconds), NOW) == text


def test_fractions_of_seconds_are_cut() -> None:
    assert tables.human_duration(timedelta(seconds=1.9)) == "1s"
    assert tables.human_duration(timedelta(seconds=-1.9)) == "0s"


def test_missing_timestamp_has_unknown_age() -> None:
    assert tables.translate_timestamp_since(None, NOW) == "<unknown>"


POD = core_v1.Pod(
    metadata=meta_v1.ObjectMeta(name="web", creation_timestamp=NOW - timedelta(minutes=3)),
    spec=core_v1.PodSpec(node_name="one"),
)


def test_a_kind_without_columns_of_its_own_shows_name_and_age() -> None:
    assert tables.default_cells(POD, NOW) == ("web", "3m")
    assert [(column.name, column.format) for column in tables.DEFAULT_COLUMNS] == [
        ("Name", "name"),
        ("Age", ""),
    ]


def test_include_object_is_checked() -> None:
    assert tables.check_include_object("") == "Metadata"
    assert tables.check_include_object("None") == "None"
    with pytest.raises(ApiError, match=r"^Unable to convert to Table as requested: includeObject: Inv"):
        tables.check_include_object("all")

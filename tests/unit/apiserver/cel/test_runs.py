"""Random arguments: every function returns a value or a CEL error, within its cost limit."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC
from ipaddress import ip_address
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podling.apiserver.cel import runs
from podling.apiserver.cel.addresses import Cidr
from podling.apiserver.cel.amounts import Version
from podling.apiserver.cel.functions import OVERLOADS, Overload
from podling.apiserver.cel.library import named_formats
from podling.apiserver.cel.programs import PER_CALL, OverBudget, Program
from podling.apiserver.cel.types import STRING, Type, list_of
from podling.apiserver.cel.values import Optional, Unsigned
from podling.machinery import quantity
from podling.machinery.urls import GoUrl

CALLS = [
    (name, each)
    for name, overloads in OVERLOADS.items()
    for each in overloads
    if "authorization" not in str(each.arguments)  # has questions of its own
]
_KNOWN = [
    "1", "-7", "1.5", "1h", "99999999999h", "2026-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "10.0.0.0/8",
    "::1", "http://a:1/b?c=d", "http://[::1]:x/", "[", "(", "1Gi", "v1.2.3", "%s%d", "%.3f", "%", "a%zz",
    "+01:00", "Europe/Berlin", "//[", "inf", "1e400", "-0",
]  # fmt: skip
_TEXTS = st.one_of(st.text(max_size=6), st.sampled_from(_KNOWN))
_LARGE = [-(2**63), 2**63 - 1, 10**12]
_NUMBERS = st.one_of(st.integers(-5, 5), st.sampled_from(_LARGE))
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": _TEXTS,
    "int": _NUMBERS,
    "uint": st.sampled_from([0, 1, 2**64 - 1]).map(Unsigned),
    "double": st.floats(),
    "bool": st.booleans(),
    "bytes": st.binary(max_size=4),
    "timestamp": st.datetimes(timezones=st.just(UTC)),
    "duration": st.timedeltas(),
    "dyn": st.one_of(_TEXTS, _NUMBERS, st.none(), st.booleans(), st.lists(st.integers(), max_size=2)),
    "type": st.just("int"),
    "net.IP": st.sampled_from(["1.2.3.4", "::1"]).map(ip_address),
    "net.CIDR": st.sampled_from([Cidr(ip_address("10.0.0.0"), 8), Cidr(ip_address("::"), 0)]),
    "kubernetes.URL": st.sampled_from([GoUrl(), GoUrl("http", host="a:1", path=b"/b%zz", query="c=d;e&%zz")]),
    "kubernetes.Quantity": st.sampled_from(["1", "1Gi", "1e99", "-3m"]).map(quantity.parse),
    "kubernetes.Semver": st.sampled_from([Version(1, 2, 3), Version(1, 2, 3, ((0, 1),))]),
    "kubernetes.NamedFormat": st.sampled_from(list(named_formats.FORMATS.values())),
}


def values_of(type_: Type) -> st.SearchStrategy[Any]:
    if type_.is_parameter:
        return st.one_of(_NUMBERS, _TEXTS, st.lists(st.integers(), max_size=2), st.none(), st.floats())
    if type_.name == "list":
        return st.lists(values_of(type_.inner[0]), max_size=4)
    if type_.name == "map":
        return st.dictionaries(st.one_of(_TEXTS, st.booleans()), values_of(type_.inner[1]), max_size=3)
    if type_.name == "optional":
        return st.one_of(
            st.just(Optional()), values_of(type_.inner[0]).map(lambda each: Optional(each, True))
        )
    return VALUES[type_.name]


def given_as(value: Any) -> runs.Run:
    return lambda scope: value


def called(name: str, overload: Overload, values: tuple[Any, ...]) -> None:
    run = runs.called(name, [overload], [given_as(each) for each in values])
    with suppress(runs.Failure, OverBudget):
        run({runs.BUDGET: [PER_CALL]})


@settings(max_examples=8)
@given(st.data())
def test_random_arguments_give_a_value_or_an_error(data: st.DataObject) -> None:
    for name, overload in CALLS:
        called(name, overload, data.draw(st.tuples(*map(values_of, overload.arguments))))


LONG, MANY = "x" * 100_000, [[each] for each in range(2_000)]


@pytest.mark.parametrize(
    "text",
    [
        "lists.range(1000000000).size() > 0",
        "lists.range(1000).map(i, s).join().size() > 0",
        "s.replace('x', s).size() > 0",
        "l.distinct().size() > 0",
        "sets.contains(l, l)",
        "l.all(x, x in l)",
        "lists.range(2000).all(i, lists.range(2000).all(j, i + j >= 0))",
    ],
)
def test_call_above_the_cost_limit_is_not_run(text: str) -> None:
    program = Program(text, {"s": STRING, "l": list_of(list_of(Type("int")))})
    with pytest.raises(OverBudget):
        program.evaluate({"s": LONG, "l": MANY})


def test_large_sets_of_scalars_are_compared() -> None:
    program = Program(
        "sets.equivalent(l, l.reverse()) && l.distinct().size() == l.size()", {"l": list_of(Type("int"))}
    )
    assert program.evaluate({"l": list(range(50_000))}) is True

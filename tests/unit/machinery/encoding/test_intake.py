"""Any body becomes an object or a 400; converting the object again changes nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podling.api import (
    apiextensions_v1,
    apps_v1,
    autoscaling_v2,
    batch_v1,
    coordination_v1,
    core_v1,
    networking_v1,
    resource_v1,
)
from podling.machinery import scheme
from podling.machinery.encoding.codec import convert, decode, encode, read_body, to_plain
from podling.machinery.encoding.shapes import Kind, Shape, fields_of
from podling.machinery.errors import ApiError

TYPES: list[type[Any]] = [
    core_v1.Pod,
    core_v1.Secret,
    core_v1.Event,
    apps_v1.Deployment,
    autoscaling_v2.HorizontalPodAutoscaler,
    apiextensions_v1.CustomResourceDefinition,
    batch_v1.CronJob,
    coordination_v1.Lease,
    networking_v1.NetworkPolicy,
    resource_v1.ResourceSlice,
]

odd = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from(["1.5Gi", "0.5", "2020-01-01T00:00:00Z", "2020-02-30T00:00:00.5Z", "YWJj", "$patch"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)

GOOD: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.STRING: st.text(max_size=5),
    Kind.BYTES: st.sampled_from(["", "YWJj", "YQ=="]),
    Kind.QUANTITY: st.sampled_from(["1", "0.5", "1.5Gi", "1024Ki", "1e3"]) | st.integers(0, 10**6),
    Kind.TIME: st.sampled_from(["2020-01-01T00:00:00Z", "2020-01-01T00:00:00.123456+02:00"]),
    Kind.INTEGER: st.integers(-(2**31), 2**31 - 1),
    Kind.INT_OR_STRING: st.integers(0, 9) | st.text(max_size=3),
    Kind.NUMBER: st.floats(-1e6, 1e6),
    Kind.BOOLEAN: st.booleans(),
    Kind.ANY: st.dictionaries(st.text(max_size=3), st.integers() | st.none(), max_size=2),
}


@st.composite
def values(draw: st.DrawFn, shape: Shape, depth: int, wild: bool) -> Any:
    """Return a value of a shape; a wild one may hold anything anywhere."""
    if wild and draw(st.integers(0, 19)) == 0:
        return draw(odd)
    if shape.kind is Kind.STRUCT and shape.struct:
        return draw(objects(shape.struct, depth, wild))
    if shape.kind is Kind.LIST and shape.element:
        count = draw(st.integers(0, 2)) if depth else 0
        return [draw(values(shape.element, depth - 1, wild)) for _ in range(count)]
    if shape.kind is Kind.MAP and shape.element:
        names = draw(st.lists(st.text(max_size=3), max_size=2, unique=True)) if depth else []
        return {name: draw(values(shape.element, depth - 1, wild)) for name in names}
    if shape.kind is Kind.TIME and shape.micro:
        return "2020-01-01T00:00:00.000001Z"
    return draw(GOOD[shape.kind])


@st.composite
def objects(draw: st.DrawFn, struct: type[Any], depth: int, wild: bool) -> dict[str, Any]:
    shapes = fields_of(struct)
    names = [name for name in shapes if name not in ("apiVersion", "kind")] or ["nothing"]
    chosen = draw(st.lists(st.sampled_from(names), max_size=4 if depth else 0, unique=True))
    built = {name: draw(values(shapes[name], depth - 1, wild)) for name in chosen if name in shapes}
    if wild and draw(st.integers(0, 9)) == 0:
        built[draw(st.text(max_size=3))] = draw(odd)
    return built


quick = settings(max_examples=12, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("type_", TYPES, ids=lambda type_: type_.__name__)
@quick
@given(data=st.data())
def test_good_data_is_accepted_strictly_and_survives(type_: type[Any], data: st.DataObject) -> None:
    plain = data.draw(objects(type_, 5, False))
    obj, warnings = convert(plain, type_, "Strict")
    assert warnings == []
    assert decode(encode(obj), type_) == obj
    assert convert(to_plain(obj), type_, "Strict") == (obj, [])


@pytest.mark.parametrize("type_", TYPES, ids=lambda type_: type_.__name__)
@quick
@given(data=st.data())
def test_wild_data_is_accepted_or_refused_with_a_reason(type_: type[Any], data: st.DataObject) -> None:
    plain = data.draw(objects(type_, 5, True))
    before = json.dumps(plain)
    for how in ("Ignore", "Warn", "Strict"):
        try:
            obj, _ = convert(plain, type_, how)
        except ApiError as error:
            assert error.code == 400  # noqa: PT017
            assert "cannot be handled as a" in str(error)  # noqa: PT017
            continue
        encode(obj)
    assert json.dumps(plain) == before


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for media_type in ("application/json", "application/yaml"):
        try:
            body = read_body(data, media_type, "Pod")
            convert(body, core_v1.Pod)
        except ApiError as error:
            assert error.code == 400  # noqa: PT017


@pytest.mark.parametrize("resource", scheme.RESOURCES, ids=lambda each: f"{each.group_version}/{each.plural}")
def test_the_empty_object_of_every_kind(resource: scheme.Resource) -> None:
    obj, _ = convert({}, resource.type, "Strict")
    assert decode(encode(obj), resource.type) == obj
    assert convert(to_plain(obj), resource.type, "Strict") == (obj, [])

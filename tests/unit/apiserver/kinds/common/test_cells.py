"""Tests of the cells that tables share."""

from __future__ import annotations

import pytest

from podling.api.meta_v1 import LabelSelector
from podling.apiserver.kinds.common.cells import access_modes_text, label_text, selector_struct, selector_text
from podling.machinery.encoding import codec


def selector(**plain: object) -> LabelSelector:
    return codec.convert(plain, LabelSelector)[0]


IN = {"key": "tier", "operator": "In", "values": ["b", "a"]}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, "<none>"),
        (selector(), "<none>"),
        (selector(matchLabels={"b": "2", "a": "1"}), "a=1,b=2"),
        (selector(matchLabels={"z": "1"}, matchExpressions=[IN]), "tier in (a,b),z=1"),
        (selector(matchExpressions=[{**IN, "operator": "NotIn"}]), "tier notin (a,b)"),
        (selector(matchExpressions=[{"key": "a", "operator": "Exists"}]), "a"),
        (selector(matchExpressions=[{"key": "a", "operator": "DoesNotExist"}]), "!a"),
    ],
)
def test_selector_is_shown_as_kubectl_takes_it(given: LabelSelector | None, expected: str) -> None:
    assert selector_text(given) == expected


def test_selector_struct_is_shown_as_go_prints_it() -> None:
    assert selector_struct(selector(matchLabels={"b": "2", "a": "1"}, matchExpressions=[IN])) == (
        "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:"
        "[]LabelSelectorRequirement{LabelSelectorRequirement{Key:tier,Operator:In,Values:[b a],},},}"
    )


def test_labels_are_shown_in_key_order() -> None:
    assert label_text({"b": "2", "a": "1"}) == "a=1,b=2"
    assert label_text({}) == "<none>"


def test_access_modes_are_shown_in_fixed_order_once() -> None:
    assert access_modes_text(["ReadWriteMany", "ReadWriteOnce", "ReadWriteMany"]) == "RWO,RWX"
    assert access_modes_text(["Other"]) == ""

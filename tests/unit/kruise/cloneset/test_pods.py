"""IDs of new pods, which pods share with their claims. Cases: ``TestGetOrGenAvailableIDs`` upstream."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from podling.api.core_v1 import PersistentVolumeClaim, Pod
from podling.api.meta_v1 import ObjectMeta
from podling_kruise.cloneset.pods import choose_ids, sorted_claims
from podling_kruise.names import INSTANCE_ID


def metadata(name_id: str) -> ObjectMeta:
    return ObjectMeta(name=name_id, labels={INSTANCE_ID: name_id} if name_id else {})


def pods(*names: str) -> list[Pod]:
    return [Pod(metadata=metadata(name)) for name in names]


def claims(*names: str) -> list[PersistentVolumeClaim]:
    return [PersistentVolumeClaim(metadata=metadata(name)) for name in names]


@pytest.mark.parametrize(
    ("number", "used", "held", "chosen"),
    [
        (2, (), (), ["n1", "n2"]),
        (2, ("a",), ("a", "b"), ["b", "n1"]),
        (1, (), ("a", "b"), ["a"]),
        (1, ("n1",), ("n2",), ["n2"]),
        (2, ("n1",), (), ["n2", "n3"]),
        (1, ("",), ("",), ["n1"]),
    ],
)
def test_new_pods_take_over_claims_without_a_pod(
    number: int, used: tuple[str, ...], held: tuple[str, ...], chosen: list[str]
) -> None:
    made: Iterator[str] = iter(["n1", "n2", "n3", "n4"])
    assert choose_ids(number, pods(*used), claims(*held), lambda: next(made)) == chosen


def test_claims_are_sorted_by_what_becomes_of_their_pods() -> None:
    kept, left, unused = sorted_claims(claims("a", "b", "c"), pods("a"), pods("b"))
    assert [each.metadata.name for each in kept] == ["a"]
    assert [(claim.metadata.name, pod.metadata.name) for claim, pod in left] == [("b", "b")]
    assert [each.metadata.name for each in unused] == ["c"]

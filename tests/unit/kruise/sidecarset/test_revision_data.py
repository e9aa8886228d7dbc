"""The revisions of SidecarSets: what they keep, which are chosen, and which are forgotten."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.apps_v1 import ControllerRevision
from podling.machinery.encoding import codec
from podling_kruise.sidecarset.annotations import CUSTOM_VERSION, SET_HASH
from podling_kruise.sidecarset.revision_data import (
    chosen_revision,
    hash_without_image,
    new_revision,
    restored,
    set_hash,
    surplus,
)
from podling_kruise.sidecarset.types import InjectRevision, SidecarSet
from tests.support.sidecar_sets import sidecar_set


def owner(image: str = "agent:1", **spec: Any) -> SidecarSet:
    plain = sidecar_set(containers=[{"name": "agent", "image": image}], **spec)
    return codec.from_plain(plain, SidecarSet)


def test_revision_keeps_containers_but_not_strategies() -> None:
    old = new_revision(owner(), 1, 0)
    now = owner("agent:2", updateStrategy={"paused": True})
    back = restored(now, old)
    assert back.spec.containers[0].image == "agent:1"
    assert back.spec.update_strategy.paused
    assert back.metadata.annotations[SET_HASH] == set_hash(owner().spec)
    assert back.status.latest_revision == old.metadata.name


def test_names_differ_by_content_and_collisions() -> None:
    names = {
        new_revision(each, 1, collisions).metadata.name
        for each in (owner(), owner("agent:2"))
        for collisions in (0, 1)
    }
    assert len(names) == 4


def test_init_containers_count_if_one_of_them_runs_on() -> None:
    init = [{"name": "init", "image": "a"}]
    other = [{"name": "init", "image": "b"}]
    assert set_hash(owner(initContainers=init).spec) == set_hash(owner(initContainers=other).spec)
    running = [[{**each[0], "restartPolicy": "Always"}] for each in (init, other)]
    one, two = (owner(initContainers=each).spec for each in running)
    assert set_hash(one) != set_hash(two)
    assert hash_without_image(one) == hash_without_image(two)


def numbered(number: int, version: str = "") -> ControllerRevision:
    made = new_revision(owner(f"agent:{number}", customVersion=version or None), number, 0)
    return structs.replace(made, metadata=structs.replace(made.metadata, name=f"r-{number}"))


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (InjectRevision(revision_name="r-1"), "r-1"),
        (InjectRevision(custom_version="x"), "r-3"),
        (InjectRevision(custom_version="missing"), None),
    ],
)
def test_revision_is_chosen_by_name_or_newest_custom_version(
    wanted: InjectRevision, found: str | None
) -> None:
    revisions = [numbered(1), numbered(3, "x"), numbered(2, "x")]
    assert revisions[1].metadata.labels[CUSTOM_VERSION] == "x"
    chosen = chosen_revision("sidecars", wanted, revisions)
    assert (chosen.metadata.name if chosen is not None else None) == found


def test_oldest_revisions_are_surplus_unless_they_are_to_be_injected() -> None:
    revisions = [numbered(number) for number in range(1, 6)]
    assert [each.metadata.name for each in surplus(owner(revisionHistoryLimit=3), revisions, ())] == [
        "r-1",
        "r-2",
    ]
    held = owner(revisionHistoryLimit=3, injectionStrategy={"revision": {"revisionName": "r-1"}})
    assert [each.metadata.name for each in surplus(held, revisions, ())] == ["r-2", "r-3"]
    assert [each.metadata.name for each in surplus(owner(revisionHistoryLimit=0), revisions, ())] == [
        "r-1",
        "r-2",
        "r-3",
        "r-4",
    ]

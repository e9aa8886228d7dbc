"""Tags move, and the last name takes the image with it."""

from __future__ import annotations

from podling.runtime.images.records import Hold, ImageRecord, add, live_layers, named, remove

ONE = ImageRecord(id="sha256:1", tags=("r/a:1",), digests=("r/a@sha256:x",), layers=("base", "one"))
TWO = ImageRecord(id="sha256:2", tags=("r/b:1",), layers=("base", "two"))


def test_a_tag_belongs_to_the_image_that_got_it_last() -> None:
    records = add(add({}, ONE), ImageRecord(id="sha256:2", tags=("r/a:1",)))
    assert named(records, "r/a:1") == records["sha256:2"]
    assert records["sha256:1"].tags == ()


def test_an_image_that_comes_again_keeps_its_names() -> None:
    records = add(add({}, ONE), ImageRecord(id="sha256:1", tags=("r/c:2",), layers=ONE.layers))
    assert records["sha256:1"].tags == ("r/a:1", "r/c:2")
    assert records["sha256:1"].digests == ONE.digests


def test_removing_the_last_tag_removes_the_image() -> None:
    assert remove(add({}, ONE), "sha256:1", "r/a:1") == {}


def test_removing_one_of_two_tags_keeps_the_image_and_the_others_digests() -> None:
    both = add(add({}, ONE), ImageRecord(id="sha256:1", tags=("q/a:1",), digests=("q/a@sha256:x",)))
    left = remove(both, "sha256:1", "r/a:1")["sha256:1"]
    assert (left.tags, left.digests) == (("q/a:1",), ("q/a@sha256:x",))


def test_removing_by_id_removes_every_name() -> None:
    both = add(add({}, ONE), ImageRecord(id="sha256:1", tags=("q/a:1",)))
    assert remove(both, "sha256:1", "") == {}


def test_removing_a_digest_leaves_the_tags() -> None:
    left = remove(add({}, ONE), "sha256:1", "r/a@sha256:x")["sha256:1"]
    assert (left.tags, left.digests) == (("r/a:1",), ())


def test_layers_live_as_long_as_an_image_or_a_container_needs_them() -> None:
    assert live_layers([ONE, TWO], []) == {"base", "one", "two"}
    assert live_layers([TWO], [Hold(image="sha256:1", layers=ONE.layers)]) == {"base", "one", "two"}
    assert live_layers([], []) == set()

"""The hash of a pod template."""

from __future__ import annotations

from podling.api.core_v1 import Container, PodSpec, PodTemplateSpec
from podling.controllers.template_hash import template_hash
from podling.ids import SUFFIX_ALPHABET


def template(image: str) -> PodTemplateSpec:
    return PodTemplateSpec(spec=PodSpec(containers=(Container(name="c", image=image),)))


def test_equal_templates_have_equal_hashes() -> None:
    assert template_hash(template("a:1"), 0) == template_hash(template("a:1"), 0)


def test_image_and_collision_count_change_the_hash() -> None:
    hashes = {template_hash(template(image), count) for image in ("a:1", "a:2") for count in (None, 0, 1, 2)}
    assert len(hashes) == 8


def test_hash_has_safe_characters_and_at_most_ten() -> None:
    hashes = [template_hash(template(f"a:{number}"), None) for number in range(50)]
    assert all(1 <= len(each) <= 10 and set(each) <= set(SUFFIX_ALPHABET) for each in hashes)

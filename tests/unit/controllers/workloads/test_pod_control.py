"""Creation of pods in batches and their names."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import ConfigMap, PodTemplateSpec
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.workloads.pod_control import pod_from_template, slow_start


@pytest.mark.parametrize(
    ("count", "broken", "calls"),
    [(0, None, 0), (5, None, 5), (10, 0, 1), (10, 2, 3), (10, 5, 7), (10, 9, 10)],
)
async def test_batches_double_until_one_fails(count: int, broken: int | None, calls: int) -> None:
    made: list[int] = []
    error = ValueError("quota")

    async def create(number: int) -> None:
        made.append(number)
        if number == broken:
            raise error

    assert await slow_start(count, create) is (error if broken is not None else None)
    assert made == list(range(calls))


@pytest.mark.parametrize(
    ("owner", "prefix"), [("web", "web-"), ("web.v1", "web.v1-"), ("system:web", "system:web")]
)
def test_pod_is_named_after_its_owner(owner: str, prefix: str) -> None:
    holder = ConfigMap(metadata=ObjectMeta(name=owner, namespace="team", uid="u1"))
    template = PodTemplateSpec(metadata=ObjectMeta(name="ignored", labels={"app": "web"}))
    made = pod_from_template(template, holder).metadata
    assert (made.name or "", made.generate_name, made.namespace) == ("", prefix, "team")
    assert (made.labels, [each.uid for each in made.owner_references]) == ({"app": "web"}, ["u1"])

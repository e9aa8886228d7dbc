"""The changes of a new pod by its autoscaler."""

from __future__ import annotations

import pytest

from podling.machinery.quantity import parse
from podling_vpa.amounts import RequestsAndLimits
from podling_vpa.limit_ranges import NamespaceLimits
from podling_vpa.pod_changes import observed_containers, with_recommendation, with_resources
from tests.support.vertical_autoscalers import (
    amounts,
    autoscaler,
    container,
    pod,
    recommendation,
    recommended,
)


def test_only_recommended_containers_change() -> None:
    made = pod(container(requests=amounts("1")), container("beside", amounts("1")))
    found = recommendation(recommended("beside", amounts("2")))
    changed = with_recommendation(made, autoscaler(found), NamespaceLimits())
    assert [each.resources.requests for each in changed.spec.containers] == [amounts("1"), amounts("2")]
    assert changed.metadata.annotations == {
        "vpaObservedContainers": "app, beside",
        "vpaUpdates": "Pod resources updated by web: container 1: cpu request",
    }


def test_pod_without_a_recommendation_is_only_observed() -> None:
    made = pod(container(requests=amounts("1")))
    changed = with_recommendation(made, autoscaler(None), NamespaceLimits())
    assert changed.spec == made.spec
    assert changed.metadata.annotations == {"vpaObservedContainers": "app"}


def test_other_resources_of_a_container_stay() -> None:
    (held,) = pod(container(requests={"cpu": "1", "example.com/gpu": "1"})).spec.containers
    changed = with_resources(held, RequestsAndLimits({"cpu": parse("2")}))
    assert changed.resources.requests == {"cpu": "2", "example.com/gpu": "1"}
    assert with_resources(held, RequestsAndLimits()) is held


@pytest.mark.parametrize(
    ("text", "expected"),
    [("app, beside", {"app", "beside"}), ("", set()), ("abcd;';", None)],
)
def test_observed_containers_are_read(text: str, expected: set[str] | None) -> None:
    found = observed_containers(pod(annotations={"vpaObservedContainers": text}))
    assert found == expected

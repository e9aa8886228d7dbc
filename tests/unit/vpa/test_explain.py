"""``podling why vpa/NAME``: each cause, and what is right."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from podling.machinery.encoding import codec
from podling.sim.loop import EPOCH
from podling_vpa.explain import Facts, explain_autoscaler
from podling_vpa.limit_ranges import NamespaceLimits
from podling_vpa.types import AutoscalerCondition, VerticalPodAutoscaler
from tests.support.vertical_autoscalers import (
    amounts,
    autoscaler,
    container,
    pod,
    recommendation,
    recommended,
)

WANTED = recommendation(recommended(target=amounts("2"), lower=amounts("1"), upper=amounts("3")))


def conditions(owner: VerticalPodAutoscaler, **found: str) -> VerticalPodAutoscaler:
    """Return the autoscaler with conditions; a text is the message of one that is True."""
    made = tuple(
        AutoscalerCondition(
            type=kind, status="False" if text == "False" else "True", message="" if text == "False" else text
        )
        for kind, text in found.items()
    )
    return structs.replace(owner, status=structs.replace(owner.status, conditions=made))


def provided(mode: str = "Recreate", **spec: Any) -> VerticalPodAutoscaler:
    return conditions(autoscaler(WANTED, mode=mode, **spec), RecommendationProvided="")


def facts(owner: VerticalPodAutoscaler, *requests: str) -> Facts:
    pods = [pod(container(requests=amounts(each, "1Mi")), name=f"web-1-{each}") for each in requests]
    return Facts(owner, pods, NamespaceLimits(), EPOCH)


NOT_FOUND = "Cannot read targetRef. Reason: Deployment default/web does not exist"
REQUIREMENT = [{"resources": ["cpu"], "changeRequirement": "TargetLowerThanRequests"}]


@pytest.mark.parametrize(
    ("found", "reason", "words"),
    [
        (facts(autoscaler()), "NotObserved", "has no recommendation yet"),
        (facts(conditions(autoscaler(), ConfigUnsupported=NOT_FOUND)), "ConfigUnsupported", NOT_FOUND),
        (
            facts(conditions(autoscaler(), NoPodsMatched="none", RecommendationProvided="False")),
            "NoPodsMatched",
            "deployment/web has none that run",
        ),
        (
            facts(conditions(autoscaler(), RecommendationProvided="False"), "1"),
            "RecommendationProvided",
            "there are no metrics of its pods",
        ),
        (facts(provided(), "100m"), "MinReplicas", "fewer than 2 pods: it has 1"),
        (facts(provided(), "100m", "200m"), "InTurn", "2 of 2 pods differ from the recommendation"),
    ],
)
def test_cause_is_named(found: Facts, reason: str, words: str) -> None:
    answer = explain_autoscaler(found)
    assert (answer.healthy, answer.area, answer.reason) == (False, "autoscaler", reason)
    assert words in answer.text
    assert answer.advice


@pytest.mark.parametrize(
    ("found", "reason", "words"),
    [
        (facts(provided("Off"), "100m", "2"), "Off", "the mode Off changes no pods"),
        (facts(provided("Initial"), "100m"), "Initial", "changes new pods only"),
        (
            facts(
                provided(updatePolicy={"updateMode": "Recreate", "evictionRequirements": REQUIREMENT}),
                "10m",
                "20m",
            ),
            "EvictionRequirements",
            "the requirements for an eviction do not hold",
        ),
        (
            facts(provided(), "2", "2100m"),
            "Recommended",
            "recommends app: cpu 2. Its pods need no change now",
        ),
    ],
)
def test_nothing_is_wrong(found: Facts, reason: str, words: str) -> None:
    answer = explain_autoscaler(found)
    assert (answer.healthy, answer.area, answer.reason) == (True, "none", reason)
    assert words in answer.text


def test_policy_that_caps_is_named() -> None:
    plain = codec.to_plain(WANTED)
    plain["containerRecommendations"][0]["uncappedTarget"] = {"cpu": "5"}
    owner = conditions(autoscaler(codec.from_plain(plain, type(WANTED))), RecommendationProvided="")
    assert "app cpu 5 to 2" in explain_autoscaler(facts(owner, "2", "2")).text


def test_pending_resize_is_named() -> None:
    found = facts(provided("InPlaceOrRecreate"), "100m", "200m")
    status = {"type": "PodResizePending", "status": "True", "reason": "Deferred", "message": "no room"}
    first = codec.to_plain(found.pods[0])
    first["status"]["conditions"] = [status]
    pods = [codec.from_plain(first, type(found.pods[0])), *found.pods[1:]]
    answer = explain_autoscaler(structs.replace(found, pods=pods, now=EPOCH + timedelta(minutes=1)))
    assert (answer.reason, "no room" in answer.text) == ("Deferred", True)

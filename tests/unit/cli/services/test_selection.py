"""Explanations of Services whose selectors match no pod."""

from __future__ import annotations

import pytest

from podling.cli.services.selection import near_match
from tests.support.ailing_services import ILL, WELL, ask, deployment, pod, service


@pytest.mark.parametrize(
    ("selector", "labels", "words"),
    [
        ({"app": "web", "tier": "front"}, {"app": "web", "tier": "back"}, "it has tier=back, not tier=front"),
        ({"app": "web", "tier": "front"}, {"app": "web"}, "it has no label tier"),
        ({"app": "web"}, {"app": "wbe"}, "it has app=wbe, not app=web"),
        (
            {"app.kubernetes.io/name": "web"},
            {"app": "web"},
            "it has app=web, not app.kubernetes.io/name=web",
        ),
    ],
)
def test_labels_that_nearly_match_are_named(
    selector: dict[str, str], labels: dict[str, str], words: str
) -> None:
    answer = ask(service(selector=selector), [pod(labels=labels), pod("other", labels={"color": "blue"})])
    assert (answer.area, answer.reason, answer.healthy) == ("service", "NoPods", False)
    assert answer.text.startswith("Service web has no endpoints: its selector ")
    assert f"The nearest is pod web-1: {words}." in answer.text


def test_unlike_labels_are_not_called_near() -> None:
    answer = ask(service(), [pod(labels={"app": "database"})])
    assert (
        answer.text == "Service web has no endpoints: its selector app=web matches no pod in namespace shop."
    )
    assert "kubectl get pods -n shop --show-labels" in answer.advice
    assert near_match({"app": "web"}, {"app": "database", "tier": "x"}) == 0


def test_pods_of_another_namespace_are_named() -> None:
    answer = ask(service(), [pod(namespace="other")])
    assert (
        "Pods in namespace other match it, but a Service selects pods of its own namespace only."
        in answer.text
    )


def test_workload_that_makes_such_pods_explains_their_absence() -> None:
    answer = ask(service(), makers=[(deployment(0), WELL)])
    assert "Deployment web makes such pods, and is to have none now." in answer.text
    assert "kubectl scale deployment web -n shop --replicas=1" in answer.advice
    answer = ask(service(), makers=[(deployment(2), ILL)])
    assert answer.text.endswith("Deployment web makes such pods: It keeps ending.")
    assert answer.advice == "Look."

"""The number of watches that a change wakes (upstream: ``watch_tracker_test.go``)."""

from __future__ import annotations

import pytest

from podling.api.apps_v1 import Deployment
from podling.api.core_v1 import Namespace, Pod
from podling.apiserver.flowcontrol.watch_counts import Key, WatchCounts, exact_value
from podling.client.requests import Target
from podling.machinery.scheme import resource_of

PODS, DEPLOYMENTS, NAMESPACES = resource_of(Pod), resource_of(Deployment), resource_of(Namespace)


@pytest.mark.parametrize(
    ("target", "selector", "key"),
    [
        (Target(PODS), "", (("", "pods"), ("", ""))),
        (Target(PODS, "foo"), "", (("", "pods"), ("foo", ""))),
        (Target(PODS, "foo"), "metadata.name=mypod", (("", "pods"), ("foo", "mypod"))),
        (Target(PODS, "foo", "mypod"), "", (("", "pods"), ("foo", "mypod"))),
        (Target(NAMESPACES), "metadata.name=myns", (("", "namespaces"), ("", "myns"))),
        (Target(DEPLOYMENTS), "", (("apps", "deployments"), ("", ""))),
        (Target(DEPLOYMENTS, "foo"), "metadata.name=mine", (("apps", "deployments"), ("foo", "mine"))),
        (Target(PODS, "foo"), "spec.nodeName=", (("", "pods"), ("foo", ""))),
        (Target(PODS, "foo"), "spec.nodeName=node1", None),
        (Target(PODS, "foo"), "nonsense", (("", "pods"), ("foo", ""))),
    ],
)
def test_watch_is_counted_by_what_it_selects(target: Target, selector: str, key: Key | None) -> None:
    counts = WatchCounts()
    found = counts.register(target, selector)
    assert found == key
    if found is not None:
        assert counts.interested(Target(target.resource, *found[1])) == 1
        counts.forget(found)
    assert counts.interested(Target(target.resource, "foo", "mypod")) == 0


@pytest.mark.parametrize(
    ("target", "number"),
    [
        (Target(PODS, "foo"), 2),
        (Target(PODS, "foo", "mypod"), 3),
        (Target(PODS, "foo", "otherpod"), 2),
        (Target(PODS, "bar"), 1),
        (Target(PODS, "bar", "mypod"), 2),
        (Target(DEPLOYMENTS, "foo", "mypod"), 1),
        (Target(DEPLOYMENTS, "foo", "otherpod"), 1),
        (Target(DEPLOYMENTS, "bar", "mypod"), 1),
        (Target(DEPLOYMENTS, "bar", "otherpod"), 0),
    ],
)
def test_change_wakes_the_watches_that_select_its_object(target: Target, number: int) -> None:
    counts = WatchCounts()
    counts.register(Target(PODS), "")
    counts.register(Target(PODS, "foo"), "")
    counts.register(Target(PODS, "foo"), "metadata.name=mypod")
    counts.register(Target(PODS, "bar"), "metadata.name=mypod")
    counts.register(Target(DEPLOYMENTS, "foo"), "")
    counts.register(Target(DEPLOYMENTS, "bar"), "metadata.name=mypod")
    counts.register(Target(PODS, "foo"), "spec.nodeName=node1")
    assert counts.interested(target) == number


def test_very_long_selectors_are_not_read() -> None:
    assert exact_value("metadata.name=a", "metadata.name") == "a"
    assert exact_value("metadata.name=" + "a" * 5000, "metadata.name") == ""

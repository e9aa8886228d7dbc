"""Cached lists: each is valid until the next write to the store."""

from __future__ import annotations

from podling.api.core_v1 import ConfigMap, Pod
from podling.apiserver.http.list_cache import MAX_KEPT, KeptLists
from podling.client.requests import Target
from podling.machinery.scheme import resource_of

PODS, CONFIG_MAPS = Target(resource_of(Pod)), Target(resource_of(ConfigMap))


def test_list_is_found_at_its_revision_only() -> None:
    lists = KeptLists()
    lists.keep(PODS, 5, b"pods")
    assert lists.find(PODS, 5) == b"pods"
    assert lists.find(CONFIG_MAPS, 5) is None
    assert lists.find(PODS, 4) is None
    assert lists.find(PODS, 6) is None


def test_list_of_another_revision_drops_all_others() -> None:
    lists = KeptLists()
    lists.keep(PODS, 5, b"pods")
    lists.keep(CONFIG_MAPS, 6, b"config maps")
    assert lists.find(PODS, 6) is None
    assert lists.find(CONFIG_MAPS, 6) == b"config maps"


def test_number_of_lists_is_limited_until_the_next_revision() -> None:
    lists = KeptLists()
    targets = [Target(resource_of(Pod), f"ns-{number}") for number in range(MAX_KEPT + 1)]
    for each in targets:
        lists.keep(each, 5, b"pods")
    assert [lists.find(each, 5) is not None for each in targets] == [True] * MAX_KEPT + [False]
    lists.keep(targets[-1], 6, b"pods")
    assert lists.find(targets[-1], 6) == b"pods"

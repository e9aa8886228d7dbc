"""The cases of upstream's table about requests that fit: ``noderesources/fit_test.go``.

The node has 10 thousandths of a CPU, 20 bytes of memory and of storage, 5 of a resource and 5 huge pages.
Amounts are written in this order: ``"1 1"`` are one thousandth and one byte.
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import Container
from podling.scheduler.configuration.plugin_args import NodeResourcesFitArgs
from podling.scheduler.plugins.node_resources_fit import NodeResourcesFit
from podling.scheduler.podfacts import PodFacts
from tests.unit.scheduler.scheduling import cache_of, container, facts, node, pod, rejections

A, B, PAGES = "example.com/aaa", "example.com/bbb", "hugepages-2Mi"
OURS, ALSO_OURS = "kubernetes.io/something", "subdomain.kubernetes.io/something"
CPU, MEMORY, STORAGE = "cpu", "memory", "ephemeral-storage"


def asking(amounts: str, **more: str) -> Container:
    names = {"a": A, "b": B, "pages": PAGES, "ours": OURS, "also_ours": ALSO_OURS, "storage": STORAGE}
    cpu, _, memory = amounts.partition(" ")
    requests = {CPU: f"{cpu}m", MEMORY: memory} if amounts else {}
    return container(requests | {names[name]: amount for name, amount in more.items()})


def one(*containers: Container, first: tuple[Container, ...] = (), **more: Any) -> PodFacts:
    """Return a pod; ``first`` are its init containers."""
    return facts(containers=containers or (container(),), init_containers=first, **more)


def reasons(asked: PodFacts, there: Container, pods: str = "32", **args: Any) -> list[str]:
    only = node(
        "n",
        cpu="10m",
        memory="20",
        pods=pods,
        extended={A: "5", PAGES: "5", STORAGE: "20"},
    )
    plugin = NodeResourcesFit(structs.replace(NodeResourcesFit().args, **args))
    assert isinstance(plugin.args, NodeResourcesFitArgs)
    found = rejections(plugin, asked, cache_of(only, pods={"n": [pod(containers=[there])]}))
    return [reason.removeprefix("Insufficient ") for reason in found.get("n", [])]


@pytest.mark.parametrize(
    ("asked", "there", "short"),
    [
        (one(), "10 20", []),
        (one(asking("1 1")), "10 20", [CPU, MEMORY]),
        (one(asking("1 1"), first=(asking("3 1"),)), "8 19", [CPU]),
        (one(asking("1 1"), first=(asking("3 1"), asking("2 1"))), "8 19", [CPU]),
        (one(asking("1 1"), first=(asking("1 3"),)), "9 19", [MEMORY]),
        (one(asking("1 1"), first=(asking("1 3"), asking("1 2"))), "9 19", [MEMORY]),
        (one(asking("1 1"), first=(asking("1 1"),)), "9 19", []),
        (one(asking("1 1"), first=(asking("1 1"), asking("1 1"))), "9 19", []),
        (one(asking("1 1")), "5 5", []),
        (one(asking("2 1")), "9 5", [CPU]),
        (one(asking("1 2")), "5 19", [MEMORY]),
        (one(asking("5 1")), "5 19", []),
        (one(asking("4 1"), first=(asking("5 1"),)), "5 19", []),
        (one(asking("1 1"), overhead={CPU: "3m", MEMORY: "13"}), "5 5", []),
        (one(asking("1 1"), overhead={CPU: "1m", MEMORY: "15"}), "5 5", [MEMORY]),
    ],
)
def test_cpu_and_memory_must_be_free(asked: PodFacts, there: str, short: list[str]) -> None:
    assert reasons(asked, asking(there)) == short


@pytest.mark.parametrize(
    ("asked", "there", "short"),
    [
        (one(asking("", a="1")), {}, []),
        (one(first=(asking("", a="1"),)), {}, []),
        (one(asking("1 1", a="10")), {"a": "0"}, [A]),
        (one(first=(asking("1 1", a="10"),)), {"a": "0"}, [A]),
        (one(asking("1 1", a="1")), {"a": "5"}, [A]),
        (one(first=(asking("1 1", a="1"),)), {"a": "5"}, [A]),
        (one(asking("1 1", a="3"), asking("1 1", a="3")), {"a": "2"}, [A]),
        (one(first=(asking("1 1", a="3"), asking("1 1", a="3"))), {"a": "2"}, []),
        (one(first=(asking("1 1", a="6"), asking("1 1", a="3"))), {"a": "2"}, [A]),
        (one(asking("1 1", b="1")), {}, [B]),
        (one(first=(asking("1 1", b="1"),)), {}, [B]),
        (one(asking("1 1", ours="10")), {}, [OURS]),
        (one(first=(asking("1 1", also_ours="10"),)), {}, [ALSO_OURS]),
        (one(asking("1 1", pages="10")), {"pages": "0"}, [PAGES]),
        (one(first=(asking("1 1", pages="10"),)), {"pages": "0"}, [PAGES]),
        (one(asking("1 1", pages="3"), asking("1 1", pages="3")), {"pages": "2"}, [PAGES]),
        (one(asking("1 1", a="0")), {"a": "6"}, []),
        (one(asking("", storage="25")), {}, [STORAGE]),
        (one(asking("", storage="5")), {"storage": "10"}, []),
        (one(asking("", storage="10")), {}, []),
    ],
)
def test_other_resources_must_be_free(asked: PodFacts, there: dict[str, str], short: list[str]) -> None:
    assert reasons(asked, asking("", **there)) == short


def test_resources_that_the_pod_does_not_request_may_be_overdrawn() -> None:
    assert reasons(one(asking("", a="1")), asking("20 30", a="1")) == []


@pytest.mark.parametrize(
    ("asked", "args", "short"),
    [
        (one(asking("1 1", b="1")), {"ignored_resources": (B,)}, []),
        (one(asking("1 1", b="1", ours="1")), {"ignored_resource_groups": ("example.com",)}, [OURS]),
    ],
)
def test_ignored_resources_need_not_be_free(asked: PodFacts, args: dict[str, Any], short: list[str]) -> None:
    assert reasons(asked, asking("0 0"), **args) == short


@pytest.mark.parametrize(
    ("asked", "there"),
    [
        (one(), "10 20"),
        (one(asking("1 1")), "5 5"),
        (one(asking("5 1")), "5 19"),
        (one(asking("5 1"), first=(asking("5 1"),)), "5 19"),
    ],
)
def test_node_takes_no_more_pods_than_allocatable(asked: PodFacts, there: str) -> None:
    assert reasons(asked, asking(there), pods="1") == ["Too many pods"]

"""Bindings beyond a node's free resources are found."""

from __future__ import annotations

from podling.sim.checkers.allocatable import Allocatable
from tests.support.checked import History, node, pod


def bind(history: History, name: str) -> None:
    history.write(pod(name, phase="Pending"))
    history.write(pod(name, node="n", phase="Pending"))


def test_pod_beyond_the_free_cpu_is_a_violation() -> None:
    history = History(Allocatable)
    history.write(node(cpu="1"))
    bind(history, "a")
    bind(history, "b")
    assert not history.texts
    bind(history, "c")
    assert history.texts == ["pods/default/c was bound to n, whose pods now request 1500m of 1 cpu"]


def test_requests_of_ended_pods_do_not_count() -> None:
    history = History(Allocatable)
    history.write(node(cpu="1"))
    for name in "ab":
        bind(history, name)
    history.write(pod("a", node="n", phase="Succeeded"))
    history.delete(pod("b", node="n"))
    for name in "cd":
        bind(history, name)
    assert not history.texts


def test_pod_beyond_the_number_of_pods_is_a_violation() -> None:
    history = History(Allocatable)
    history.write(node(cpu="9", pods="1"))
    bind(history, "a")
    bind(history, "b")
    assert history.texts == ["pods/default/b was bound to n, which has 2 pods of at most 1"]


def test_pod_that_names_its_node_is_not_the_schedulers() -> None:
    history = History(Allocatable)
    history.write(node(cpu="100m"))
    history.write(pod("a", node="n", phase="Pending"))
    assert not history.texts

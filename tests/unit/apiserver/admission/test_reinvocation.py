"""Reinvocation: each webhook runs again only after a change that it did not see."""

from __future__ import annotations

from podling.api.core_v1 import ConfigMap
from podling.apiserver.admission.base import AdmissionRequest, Operation, Rounds
from podling.apiserver.admission.reinvocation import ReinvocationContext
from podling.client.requests import SYSTEM
from podling.machinery.scheme import resource_of
from podling.sim.loop import EPOCH

PLUGIN = "MutatingAdmissionWebhook"


def request_of(obj: ConfigMap, rounds: Rounds) -> AdmissionRequest:
    return AdmissionRequest(
        operation=Operation.CREATE,
        resource=resource_of(ConfigMap),
        subresource="",
        namespace="default",
        name="a",
        object=obj,
        old=None,
        user=SYSTEM,
        now=EPOCH,
        rounds=rounds,
    )


def test_first_round_invokes_everything() -> None:
    context = ReinvocationContext(Rounds())
    assert context.should_invoke("a")
    assert context.should_invoke("b")


def test_second_round_invokes_only_webhooks_from_before_a_change() -> None:
    rounds = Rounds()
    context = ReinvocationContext(rounds)
    context.record_invocation("before")
    context.record_change()
    context.record_invocation("after")
    rounds.again = True
    assert rounds.needed
    assert [context.should_invoke(each) for each in ("before", "after", "never")] == [True, False, False]


def test_invocations_without_a_change_need_no_second_round() -> None:
    rounds = Rounds()
    ReinvocationContext(rounds).record_invocation("a")
    assert not rounds.needed


def test_change_by_another_plugin_requires_reinvocation() -> None:
    rounds = Rounds()
    first = ReinvocationContext.of(request_of(ConfigMap(), rounds), PLUGIN)
    first.record_invocation("a")
    first.record_output(ConfigMap())
    rounds.again = True
    unchanged = ReinvocationContext.of(request_of(ConfigMap(), rounds), PLUGIN)
    assert unchanged is first
    assert not unchanged.should_invoke("a")
    changed = ReinvocationContext.of(request_of(ConfigMap(data={"k": "v"}), rounds), PLUGIN)
    assert changed.should_invoke("a")


def test_each_plugin_has_a_context_of_its_own() -> None:
    rounds = Rounds()
    request = request_of(ConfigMap(), rounds)
    assert ReinvocationContext.of(request, PLUGIN) is not ReinvocationContext.of(request, "other")

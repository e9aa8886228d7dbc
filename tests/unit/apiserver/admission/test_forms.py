"""Match policy ``Equivalent``: a rule matches all versions of a resource and sees objects in its own."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api import autoscaling_v1, autoscaling_v2, core_v1
from podling.api.admissionregistration_v1 import (
    MutatingWebhookConfiguration,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingWebhookConfiguration,
)
from podling.api.meta_v1 import ObjectMeta
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane
from tests.support.custom_resources import widget
from tests.support.webhooks import Answer, Hook, configure, patch

pytestmark = pytest.mark.asyncio(loop_factories=["real"])

SCALERS = {
    "operations": ["*"],
    "apiGroups": ["autoscaling"],
    "apiVersions": ["v2"],
    "resources": ["horizontalpodautoscalers"],
}


def scaler(name: str = "a") -> autoscaling_v1.HorizontalPodAutoscaler:
    return autoscaling_v1.HorizontalPodAutoscaler(
        metadata=ObjectMeta(name=name, namespace="default"),
        spec=autoscaling_v1.HorizontalPodAutoscalerSpec(
            scale_target_ref=autoscaling_v1.CrossVersionObjectReference(
                api_version="apps/v1", kind="Deployment", name="web"
            ),
            max_replicas=3,
            target_cpu_utilization_percentage=70,
        ),
    )


async def test_a_built_in_kind_in_its_other_version(plane: ControlPlane, hook: Hook) -> None:
    await configure(plane, ValidatingWebhookConfiguration, hook.webhook(rules=[SCALERS]))
    await plane.client.create(scaler())
    (asked,) = hook.asked
    names = {"group": "autoscaling", "kind": "HorizontalPodAutoscaler"}
    assert asked["kind"] == {**names, "version": "v2"}
    assert asked["requestKind"] == {**names, "version": "v1"}
    assert asked["resource"]["version"] == "v2"
    assert asked["requestResource"]["version"] == "v1"
    assert asked["object"]["apiVersion"] == "autoscaling/v2"
    assert asked["object"]["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] == 70


async def test_a_patch_is_of_the_version_that_was_shown(plane: ControlPlane, hook: Hook) -> None:
    hook.answer = lambda _asked: patch(
        {"op": "replace", "path": "/spec/metrics/0/resource/target/averageUtilization", "value": 55}
    )
    await configure(plane, MutatingWebhookConfiguration, hook.webhook(rules=[SCALERS]))
    made = await plane.client.create(scaler())
    assert isinstance(made, autoscaling_v1.HorizontalPodAutoscaler)
    assert made.spec.target_cpu_utilization_percentage == 55
    stored = await plane.client.get(autoscaling_v2.HorizontalPodAutoscaler, "a", "default")
    assert stored.spec.metrics[0].resource is not None
    assert stored.spec.metrics[0].resource.target.average_utilization == 55


async def test_another_group_of_the_same_resource(plane: ControlPlane, hook: Hook) -> None:
    rule = {**SCALERS, "apiGroups": ["events.k8s.io"], "apiVersions": ["v1"], "resources": ["events"]}
    await configure(plane, ValidatingWebhookConfiguration, hook.webhook(rules=[rule]))
    about = core_v1.ObjectReference(kind="Pod", name="p", namespace="default")
    event = core_v1.Event(
        metadata=ObjectMeta(name="e", namespace="default"), involved_object=about, message="hello"
    )
    await plane.client.create(event)
    (asked,) = hook.asked
    assert asked["kind"] == {"group": "events.k8s.io", "version": "v1", "kind": "Event"}
    assert asked["requestKind"] == {"group": "", "version": "v1", "kind": "Event"}
    assert (asked["object"]["note"], asked["object"]["regarding"]["name"]) == ("hello", "p")


@pytest.mark.parametrize(
    ("rules", "policy", "version"),
    [
        ([SCALERS], "Exact", ""),
        ([SCALERS, {**SCALERS, "apiVersions": ["v1"]}], "Equivalent", "v1"),
        ([{**SCALERS, "apiVersions": ["v3"]}, SCALERS], "Equivalent", "v2"),
        ([{**SCALERS, "resources": ["horizontalpodautoscalers/scale"]}], "Equivalent", ""),
        ([{**SCALERS, "operations": ["DELETE"]}], "Equivalent", ""),
    ],
)
async def test_review_has_the_version_of_the_matching_rule(
    plane: ControlPlane, hook: Hook, rules: list[dict[str, Any]], policy: str, version: str
) -> None:
    """The request's own, if a rule names it; else the first that a rule names; under ``Exact`` no other."""
    await configure(plane, ValidatingWebhookConfiguration, hook.webhook(rules=rules, matchPolicy=policy))
    await plane.client.create(scaler())
    assert [each["kind"]["version"] for each in hook.asked] == ([version] if version else [])


WIDGETS = {"operations": ["*"], "apiGroups": ["example.com"], "apiVersions": ["v2"], "resources": ["widgets"]}


async def test_custom_objects_are_converted_for_the_webhook(
    plane: ControlPlane, hook: Hook, kinds: tuple[type[Any], type[Any]]
) -> None:
    def answer(asked: dict[str, Any]) -> Answer:
        painted = asked["operation"] == "DELETE" or "color" in asked["object"]["spec"]
        return {"allowed": True} if painted else patch({"op": "add", "path": "/spec/color", "value": "red"})

    hook.answer = answer
    await configure(
        plane, MutatingWebhookConfiguration, hook.webhook(rules=[{**WIDGETS, "operations": ["CREATE"]}])
    )
    await configure(plane, ValidatingWebhookConfiguration, hook.webhook(rules=[WIDGETS]), name="d")
    made = await plane.client.create(widget(kinds[0], "a", spec={"size": 1}))
    assert (made.api_version, made.content["spec"]) == ("example.com/v1", {"size": 1, "color": "red"})
    await plane.client.delete(kinds[0], "a", "default")
    assert [each["object"]["apiVersion"] for each in hook.asked[:2]] == ["example.com/v2"] * 2
    assert hook.asked[2]["oldObject"]["apiVersion"] == "example.com/v2"
    assert hook.asked[2]["requestKind"]["version"] == "v1"


async def test_policies_see_the_version_of_their_rule(
    plane: ControlPlane, kinds: tuple[type[Any], type[Any]]
) -> None:
    spec: dict[str, Any] = {
        "matchConstraints": {"resourceRules": [WIDGETS]},
        "validations": [
            {"expression": "request.kind.version != 'v2' || object.apiVersion != 'example.com/v2'"}
        ],
    }
    plain: dict[str, Any] = {"metadata": {"name": "p"}, "spec": spec}
    await plane.client.create(codec.convert(plain, ValidatingAdmissionPolicy)[0])
    plain = {"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}}
    await plane.client.create(codec.convert(plain, ValidatingAdmissionPolicyBinding)[0])
    with pytest.raises(ApiError, match="failed expression"):
        await plane.client.create(widget(kinds[0], "a", spec={"size": 1}))

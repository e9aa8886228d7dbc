"""Subresources and connections: webhooks and policies see them as the kind that the request names."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api import autoscaling_v1
from podling.api.admissionregistration_v1 import (
    MutatingWebhookConfiguration,
    ValidatingWebhookConfiguration,
)
from podling.api.apps_v1 import Deployment
from podling.api.authentication_v1 import TokenRequest
from podling.api.authorization_v1 import SelfSubjectAccessReview
from podling.api.core_v1 import Binding, Namespace, ObjectReference, Pod, ServiceAccount
from podling.api.meta_v1 import DeleteOptions, ObjectMeta
from podling.api.policy_v1 import Eviction
from podling.client.base import PatchType
from podling.client.requests import SYSTEM, Patch, Target, WriteOptions
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling.machinery.scheme import resource_of
from podling.testing import ControlPlane
from tests.support.webhooks import EVERYTHING, Hook, configure, patch

pytestmark = pytest.mark.asyncio(loop_factories=["real"])

PODS = resource_of(Pod)


def rule(resource: str) -> list[dict[str, Any]]:
    return [{**EVERYTHING, "resources": [resource]}]


def parsed(kind: type[Any], **plain: Any) -> Any:
    return codec.convert(plain, kind)[0]


async def a_pod(plane: ControlPlane) -> None:
    container = {"name": "c", "image": "i"}
    metadata = {"name": "p", "namespace": "default"}
    await plane.client.create(parsed(Pod, metadata=metadata, spec={"containers": [container]}))


async def a_deployment(plane: ControlPlane) -> None:
    labels = {"app": "web"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": pod}
    await plane.client.create(parsed(Deployment, metadata={"name": "web", "namespace": "default"}, spec=spec))


async def scale(plane: ControlPlane, replicas: int) -> autoscaling_v1.Scale:
    target = Target(resource_of(Deployment), "default", "web", "scale")
    body = Patch(PatchType.MERGE, {"spec": {"replicas": replicas}})
    made = await plane.backend.patch(target, SYSTEM, body, WriteOptions())
    assert isinstance(made, autoscaling_v1.Scale)
    return made


async def test_a_scale_is_a_scale(plane: ControlPlane, hook: Hook) -> None:
    await a_deployment(plane)
    await configure(plane, ValidatingWebhookConfiguration, hook.webhook(rules=rule("deployments/scale")))
    await scale(plane, 3)
    (asked,) = hook.asked
    assert asked["kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert asked["resource"] == {"group": "apps", "version": "v1", "resource": "deployments"}
    assert (asked["subResource"], asked["operation"]) == ("scale", "UPDATE")
    assert asked["object"]["kind"] == "Scale"
    assert (asked["object"]["spec"], asked["oldObject"]["spec"]) == ({"replicas": 3}, {"replicas": 1})


async def test_a_scale_may_be_changed_and_refused(plane: ControlPlane, hook: Hook) -> None:
    await a_deployment(plane)
    hook.answer = lambda _asked: patch({"op": "replace", "path": "/spec/replicas", "value": 2})
    webhook = hook.webhook(rules=rule("*/scale"))
    await configure(plane, MutatingWebhookConfiguration, webhook)
    assert (await scale(plane, 9)).spec.replicas == 2
    assert (await plane.client.get(Deployment, "web", "default")).spec.replicas == 2
    hook.answer = lambda _asked: {"allowed": False}
    with pytest.raises(ApiError, match="denied the request without explanation"):
        await scale(plane, 1)


async def test_bodies_of_their_own(plane: ControlPlane, hook: Hook) -> None:
    await a_pod(plane)
    await plane.client.create(ServiceAccount(metadata=ObjectMeta(name="s", namespace="default")))
    everything = [*rule("pods/*"), *rule("serviceaccounts/token"), *rule("selfsubjectaccessreviews")]
    await configure(plane, ValidatingWebhookConfiguration, hook.webhook(rules=everything))

    async def post(kind: type[Any], name: str, part: str, body: Any) -> dict[str, Any]:
        hook.asked.clear()
        target = Target(resource_of(kind), "default" if name else "", name, part)
        await plane.backend.create(target, SYSTEM, body, WriteOptions())
        (asked,) = hook.asked
        assert (asked["operation"], asked["name"] if name else "", asked["oldObject"]) == (
            "CREATE",
            name,
            None,
        )
        return asked

    node = ObjectReference(kind="Node", name="n")
    asked = await post(Pod, "p", "binding", Binding(metadata=ObjectMeta(name="p"), target=node))
    assert asked["kind"] == {"group": "", "version": "v1", "kind": "Binding"}
    assert asked["object"]["target"]["name"] == "n"
    asked = await post(ServiceAccount, "s", "token", TokenRequest())
    assert asked["kind"] == {"group": "authentication.k8s.io", "version": "v1", "kind": "TokenRequest"}
    review = parsed(SelfSubjectAccessReview, spec={"nonResourceAttributes": {"path": "/x", "verb": "get"}})
    assert (await post(SelfSubjectAccessReview, "", "", review))["kind"]["kind"] == "SelfSubjectAccessReview"
    asked = await post(Pod, "p", "eviction", Eviction(metadata=ObjectMeta(name="p")))
    assert asked["kind"] == {"group": "policy", "version": "v1", "kind": "Eviction"}
    assert asked["object"]["metadata"]["name"] == "p"


async def test_an_eviction_is_no_deletion(plane: ControlPlane, hook: Hook) -> None:
    await a_pod(plane)
    await configure(plane, ValidatingWebhookConfiguration, hook.webhook(rules=rule("pods")))
    target = Target(PODS, "default", "p", "eviction")
    await plane.backend.create(target, SYSTEM, Eviction(metadata=ObjectMeta(name="p")), WriteOptions())
    assert hook.asked == []


async def test_a_status_is_the_whole_object(plane: ControlPlane, hook: Hook) -> None:
    await a_pod(plane)
    await configure(plane, ValidatingWebhookConfiguration, hook.webhook(rules=rule("pods/status")))
    target = Target(PODS, "default", "p", "status")
    body = Patch(PatchType.MERGE, {"status": {"message": "m"}})
    await plane.backend.patch(target, SYSTEM, body, WriteOptions())
    (asked,) = hook.asked
    assert (asked["kind"]["kind"], asked["subResource"]) == ("Pod", "status")
    assert asked["object"]["spec"]["containers"][0]["name"] == "c"
    assert asked["object"]["status"]["message"] == "m"


@pytest.mark.parametrize(
    ("part", "spec"),
    [
        ("ephemeralcontainers", {"ephemeralContainers": [{"name": "e", "image": "i"}]}),
        ("resize", {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}),
    ],
)
async def test_parts_that_change_the_pod_show_the_pod(
    plane: ControlPlane, hook: Hook, part: str, spec: dict[str, Any]
) -> None:
    resources = {"requests": {"cpu": "1"}}
    container = {"name": "c", "image": "i", "resources": resources}
    metadata = {"name": "p", "namespace": "default"}
    await plane.client.create(parsed(Pod, metadata=metadata, spec={"containers": [container]}))
    await configure(plane, ValidatingWebhookConfiguration, hook.webhook(rules=rule(f"pods/{part}")))
    target = Target(PODS, "default", "p", part)
    await plane.backend.patch(target, SYSTEM, Patch(PatchType.STRATEGIC, {"spec": spec}), WriteOptions())
    (asked,) = hook.asked
    assert (asked["kind"]["kind"], asked["subResource"], asked["operation"]) == ("Pod", part, "UPDATE")
    changed = "ephemeralContainers" if part == "ephemeralcontainers" else "containers"
    assert asked["object"]["spec"][changed] != asked["oldObject"]["spec"].get(changed)


async def test_the_old_way_to_bind(plane: ControlPlane, hook: Hook) -> None:
    """It is reviewed once, as what it is."""
    await a_pod(plane)
    both = [*rule("bindings"), *rule("pods/binding")]
    await configure(plane, ValidatingWebhookConfiguration, hook.webhook(rules=both))
    binding = Binding(metadata=ObjectMeta(name="p"), target=ObjectReference(kind="Node", name="n"))
    await plane.backend.create(Target(resource_of(Binding), "default"), SYSTEM, binding, WriteOptions())
    (asked,) = hook.asked
    assert (asked["resource"]["resource"], asked["name"], "subResource" in asked) == ("bindings", "p", False)
    assert (await plane.client.get(Pod, "p", "default")).spec.node_name == "n"


async def test_a_connection_shows_its_options(plane: ControlPlane, hook: Hook) -> None:
    hook.answer = lambda _asked: patch({"op": "replace", "path": "/command/0", "value": "true"})
    await configure(plane, MutatingWebhookConfiguration, hook.webhook(rules=rule("pods/exec")))
    options = {"kind": "PodExecOptions", "apiVersion": "v1", "stdout": True, "command": ["sh"]}
    made = await plane.backend.connect(Target(PODS, "default", "p", "exec"), SYSTEM, options, WriteOptions())
    assert made == {**options, "command": ["true"]}
    (asked,) = hook.asked
    assert asked["kind"] == {"group": "", "version": "v1", "kind": "PodExecOptions"}
    assert asked["resource"] == {"group": "", "version": "v1", "resource": "pods"}
    assert (asked["operation"], asked["name"], asked["subResource"]) == ("CONNECT", "p", "exec")
    assert (asked["object"], asked["oldObject"], asked["options"]) == (options, None, None)


async def test_the_options_of_a_write(plane: ControlPlane, hook: Hook) -> None:
    await configure(plane, ValidatingWebhookConfiguration, hook.webhook(rules=rule("namespaces")))
    namespace = Namespace(metadata=ObjectMeta(name="n"))
    target = Target(resource_of(Namespace))
    options = WriteOptions(field_manager="m", field_validation="Strict", dry_run=True)
    await plane.backend.create(target, SYSTEM, namespace, options)
    assert hook.asked[0]["options"] == {
        "kind": "CreateOptions",
        "apiVersion": "meta.k8s.io/v1",
        "dryRun": ["All"],
        "fieldManager": "m",
        "fieldValidation": "Strict",
    }
    assert hook.asked[0]["namespace"] == "n", "a namespace is in itself"
    await plane.backend.create(target, SYSTEM, namespace, WriteOptions())
    hook.answer = lambda _asked: {"allowed": True, "warnings": ["think twice"]}
    warnings: list[str] = []
    await plane.backend.delete(
        Target(target.resource, "", "n"), SYSTEM, DeleteOptions(propagation_policy="Foreground"), warnings
    )
    said = hook.asked[-1]["options"]
    assert (said["kind"], said["propagationPolicy"]) == ("DeleteOptions", "Foreground")
    assert warnings == ["think twice"]

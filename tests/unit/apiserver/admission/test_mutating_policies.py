"""Mutating admission policies: their changes, their order, and their errors."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.admissionregistration_v1 import (
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    MutatingWebhookConfiguration,
    ValidatingAdmissionPolicy,
)
from podling.api.apps_v1 import Deployment
from podling.api.autoscaling_v1 import HorizontalPodAutoscaler
from podling.api.core_v1 import ConfigMap, LimitRange, Pod
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import PatchType
from podling.client.requests import SYSTEM, Patch, Target, WriteOptions
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling.machinery.scheme import resource_of
from podling.testing import ControlPlane
from tests.support.custom_resources import widget
from tests.support.webhooks import EVERYTHING, Hook, configure

RULE = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE"],
    "resources": ["configmaps"],
}
PODS = {**RULE, "resources": ["pods"]}


def applying(expression: str) -> dict[str, Any]:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def patching(expression: str) -> dict[str, Any]:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def parsed(kind: type[Any], **plain: Any) -> Any:
    return codec.convert(plain, kind)[0]


async def policy(cluster: ControlPlane, *mutations: dict[str, Any], name: str = "p", **spec: Any) -> None:
    """A policy, and a binding of the same name."""
    params = spec.pop("paramRef", None)
    constraints = {"resourceRules": [spec.pop("rule", RULE)]}
    whole = {
        "reinvocationPolicy": "Never",
        "matchConstraints": constraints,
        "mutations": list(mutations),
        **spec,
    }
    await cluster.client.create(parsed(MutatingAdmissionPolicy, metadata={"name": name}, spec=whole))
    binding = {"policyName": name, **({"paramRef": params} if params else {})}
    await cluster.client.create(parsed(MutatingAdmissionPolicyBinding, metadata={"name": name}, spec=binding))


def config_map(name: str = "a", **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data=data)


def pod() -> Pod:
    containers = [{"name": "c", "image": "i", "env": [{"name": "A", "value": "1"}]}]
    made: Pod = parsed(Pod, metadata={"name": "p", "namespace": "default"}, spec={"containers": containers})
    return made


LABEL = applying("Object{metadata: Object.metadata{labels: {'team': 'x'}}}")


async def test_an_apply_configuration_is_merged(cluster: ControlPlane) -> None:
    """Lists with keys are merged item by item, maps key by key."""
    container = "Object.spec.containers{name: 'c', env: [Object.spec.containers.env{name: 'B', value: '2'}]}"
    sidecar = "Object.spec.containers{name: 'sidecar', image: 'j'}"
    await policy(
        cluster,
        LABEL,
        applying(f"Object{{spec: Object.spec{{containers: [{container}, {sidecar}]}}}}"),
        rule=PODS,
    )
    made = await cluster.client.create(pod())
    assert made.metadata.labels == {"team": "x"}
    assert [(each.name, each.image) for each in made.spec.containers] == [("c", "i"), ("sidecar", "j")]
    assert [(each.name, each.value) for each in made.spec.containers[0].env] == [("A", "1"), ("B", "2")]
    assert made.spec.containers[1].termination_message_path == "/dev/termination-log", "it has its defaults"


async def test_json_patch_is_applied(cluster: ControlPlane) -> None:
    labels = "has(object.metadata.labels) ? [] : [JSONPatch{op: 'add', path: '/metadata/labels', value: {}}]"
    add = (
        f"({labels}) + "
        "[JSONPatch{op: 'test', path: '/data/k', value: 'v'}, JSONPatch{op: 'add', "
        "path: '/metadata/labels/' + jsonpatch.escapeKey('a.b/c'), value: object.metadata.name}]"
    )
    await policy(cluster, patching(add))
    assert (await cluster.client.create(config_map(k="v"))).metadata.labels == {"a.b/c": "a"}
    other = await cluster.client.create(config_map("b", k="w"))
    assert not other.metadata.labels, "a test that fails means that the patch is for others"


async def test_a_patch_may_put_parts_of_objects(cluster: ControlPlane) -> None:
    value = "Object.spec.containers{name: 'd', ?image: optional.of('j'), ?command: optional.none()}"
    await policy(
        cluster, patching(f"[JSONPatch{{op: 'add', path: '/spec/containers/-', value: {value}}}]"), rule=PODS
    )
    made = await cluster.client.create(pod())
    assert [(each.name, each.image) for each in made.spec.containers] == [("c", "i"), ("d", "j")]


async def test_update_sees_the_old_object(cluster: ControlPlane) -> None:
    await cluster.client.create(config_map(k="v"))
    kept = "Object{data: {'k': oldObject.data.k}}"
    await policy(cluster, applying(kept), rule={**RULE, "operations": ["UPDATE"]})
    changed = await cluster.client.patch(ConfigMap, "a", {"data": {"k": "w", "l": "x"}}, "default")
    assert changed.data == {"k": "v", "l": "x"}


async def test_scale_subresource_is_mutated(cluster: ControlPlane) -> None:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    await cluster.client.create(
        parsed(Deployment, metadata={"name": "web", "namespace": "default"}, spec=spec)
    )
    rule = {**RULE, "apiGroups": ["apps"], "resources": ["deployments/scale"]}
    most = "object.spec.replicas > 3 ? 3 : object.spec.replicas"
    await policy(cluster, applying(f"Object{{spec: Object.spec{{replicas: {most}}}}}"), rule=rule)
    target = Target(resource_of(Deployment), "default", "web", "scale")
    body = Patch(PatchType.MERGE, {"spec": {"replicas": 9}})
    await cluster.backend.patch(target, SYSTEM, body, WriteOptions())
    assert (await cluster.client.get(Deployment, "web", "default")).spec.replicas == 3


@pytest.mark.asyncio(loop_factories=["real"])
async def test_custom_object_is_mutated_in_the_version_of_the_rule(
    plane: ControlPlane, kinds: tuple[type[Any], type[Any]]
) -> None:
    rule = {**RULE, "apiGroups": ["example.com"], "apiVersions": ["v2"], "resources": ["widgets"]}
    await policy(plane, applying("Object{spec: Object.spec{color: 'red', inner: {'a': 1}}}"), rule=rule)
    made = await plane.client.create(widget(kinds[0], spec={"size": 1, "inner": {"b": 2}}))
    assert made.api_version == "example.com/v1"
    assert made.content["spec"] == {"size": 1, "color": "red", "inner": {"a": 1, "b": 2}}


async def test_variables_params_and_conditions(cluster: ControlPlane) -> None:
    await cluster.client.create(config_map("params", team="blue"))
    await policy(
        cluster,
        applying("Object{metadata: Object.metadata{labels: variables.labels}}"),
        variables=[{"name": "labels", "expression": "{'team': string(params.data.team)}"}],
        matchConditions=[{"name": "n", "expression": "object.metadata.name == 'a'"}],
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        paramRef={"name": "params", "parameterNotFoundAction": "Deny"},
    )
    assert (await cluster.client.create(config_map())).metadata.labels == {"team": "blue"}
    assert not (await cluster.client.create(config_map("b"))).metadata.labels


NOTE = applying(
    "Object{metadata: Object.metadata{annotations: {'seen': string(object.spec.containers.size())}}}"
)
SIDECAR = applying("Object{spec: Object.spec{containers: [Object.spec.containers{name: 's', image: 'j'}]}}")


@pytest.mark.parametrize(("again", "seen"), [("Never", "1"), ("IfNeeded", "2")])
async def test_policies_act_in_the_order_of_their_names(cluster: ControlPlane, again: str, seen: str) -> None:
    """``IfNeeded`` runs a policy again after a later change; an added container gets the defaults."""
    limits = {"limits": [{"type": "Container", "default": {"cpu": "1"}}]}
    await cluster.client.create(
        parsed(LimitRange, metadata={"name": "l", "namespace": "default"}, spec=limits)
    )
    await policy(cluster, SIDECAR, name="b", rule=PODS)
    await policy(cluster, NOTE, name="a", rule=PODS, reinvocationPolicy=again)
    made = await cluster.client.create(pod())
    assert made.metadata.annotations == {
        "seen": seen,
        **{key: text for key, text in made.metadata.annotations.items() if key != "seen"},
    }
    resources = made.spec.containers[1].resources
    assert resources.limits == {"cpu": "1"}


async def test_rule_for_another_version_of_the_kind_matches(cluster: ControlPlane) -> None:
    rule = {
        "apiGroups": ["autoscaling"],
        "apiVersions": ["v2"],
        "operations": ["CREATE"],
        "resources": ["horizontalpodautoscalers"],
    }
    await policy(cluster, applying("Object{spec: Object.spec{maxReplicas: 2}}"), rule=rule)
    spec = {
        "maxReplicas": 9,
        "scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"},
    }
    scaler = parsed(HorizontalPodAutoscaler, metadata={"name": "a", "namespace": "default"}, spec=spec)
    made = await cluster.client.create(scaler)
    assert isinstance(made, HorizontalPodAutoscaler)
    assert made.spec.max_replicas == 2


@pytest.mark.parametrize(
    ("mutation", "text"),
    [
        (
            applying(
                "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'c', command: ['x']}]}}"
            ),
            "error applying patch: invalid ApplyConfiguration: "
            "may not mutate atomic arrays, maps or structs: .spec.containers[0].command",
        ),
        (
            applying("Object{spec: Object.wrong{hostname: 'x'}}"),
            'type mismatch: unexpected type name "Object.wrong", expected "Object.spec", which matches '
            "field name path from root Object type",
        ),
        (
            applying("Object{spec: Object.spec{nothing: 'x'}}"),
            "error applying patch: failed to convert patch object to typed object: "
            ".spec.nothing: field not declared in schema",
        ),
        (
            applying("Object{metadata: Object.metadata{labels: object.nothing}}"),
            "expression 'Object{metadata: Object.metadata{labels: object.nothing}}' resulted in error: "
            "no such key: nothing",
        ),
        (patching("[JSONPatch{op: 'remove', path: '/spec/nothing'}]"), "JSONPath: "),
    ],
)
async def test_failing_mutation_denies_the_request(
    cluster: ControlPlane, mutation: dict[str, Any], text: str
) -> None:
    await policy(cluster, mutation, rule=PODS)
    with pytest.raises(ApiError) as error:
        await cluster.client.create(pod())
    said = f"policy 'p' with binding 'p' denied request: {text}"
    assert (error.value.code, error.value.reason) == (403, "Invalid")
    assert str(error.value).startswith(said)
    details = error.value.status.details
    assert details is not None
    assert [cause.message for cause in details.causes] == [str(error.value)]


async def test_failing_mutation_is_skipped_with_failure_policy_ignore(cluster: ControlPlane) -> None:
    await policy(
        cluster, LABEL, applying("Object{spec: Object.spec{nothing: 'x'}}"), failurePolicy="Ignore", rule=PODS
    )
    assert (await cluster.client.create(pod())).metadata.labels == {"team": "x"}


async def test_missing_parameters_deny_the_request(cluster: ControlPlane) -> None:
    ref = {"name": "nobody", "parameterNotFoundAction": "Deny"}
    await policy(cluster, LABEL, paramKind={"apiVersion": "v1", "kind": "ConfigMap"}, paramRef=ref)
    with pytest.raises(ApiError) as error:
        await cluster.client.create(config_map())
    assert (error.value.code, error.value.reason) == (403, "Forbidden")
    assert str(error.value) == (
        "policy 'p' with binding 'p' denied request: failed to configure binding: no params found for policy "
        "binding with `Deny` parameterNotFoundAction"
    )


async def test_a_field_that_the_kind_lacks(cluster: ControlPlane) -> None:
    await policy(cluster, patching("[JSONPatch{op: 'add', path: '/nothing', value: 1}]"))
    with pytest.raises(ApiError, match="nothing") as error:
        await cluster.client.create(config_map())
    assert error.value.code >= 400


async def test_a_connection_cannot_be_changed(cluster: ControlPlane) -> None:
    rule = {**PODS, "operations": ["CONNECT"], "resources": ["pods/exec"]}
    await policy(cluster, patching("[]"), rule=rule)
    options = {"kind": "PodExecOptions", "apiVersion": "v1", "command": ["sh"]}
    with pytest.raises(ApiError, match="Resource kind /v1, Kind=PodExecOptions not found") as error:
        await cluster.backend.connect(
            Target(resource_of(Pod), "default", "p", "exec"), SYSTEM, options, WriteOptions()
        )
    assert error.value.code == 503


@pytest.mark.asyncio(loop_factories=["real"])
async def test_webhooks_see_what_policies_made(plane: ControlPlane, hook: Hook) -> None:
    await configure(plane, MutatingWebhookConfiguration, hook.webhook(rules=[EVERYTHING]))
    await policy(plane, LABEL)
    await plane.client.create(config_map())
    assert [each["object"]["metadata"]["labels"] for each in hook.asked] == [{"team": "x"}]


WHERE = "spec.mutations[0]"


@pytest.mark.parametrize(
    ("mutation", "field", "text"),
    [
        (applying("{'a': 1}"), "applyConfiguration", "must evaluate to Object"),
        (applying("Object{a: b}"), "applyConfiguration", "undeclared reference to 'b'"),
        (applying("Objekt{a: 1}"), "applyConfiguration", "undeclared reference to 'Objekt'"),
        (applying("Object{a 1}"), "applyConfiguration", "Syntax error"),
        (patching("JSONPatch{op: 'add'}"), "jsonPatch", "must evaluate to list(JSONPatch)"),
        (patching("[JSONPatch{what: 'add'}]"), "jsonPatch", "undefined field 'what'"),
        (
            patching("[JSONPatch{op: 1}]"),
            "jsonPatch",
            "expected type of field 'op' is 'string' but provided type is 'int'",
        ),
    ],
)
async def test_malformed_mutation_is_invalid(
    cluster: ControlPlane, mutation: dict[str, Any], field: str, text: str
) -> None:
    with pytest.raises(ApiError) as error:
        await policy(cluster, mutation)
    details = error.value.status.details
    assert details is not None
    (cause,) = details.causes
    assert cause.field_ == f"{WHERE}.{field}.expression"
    assert text in (cause.message or "")


async def test_validating_policy_cannot_construct_objects(cluster: ControlPlane) -> None:
    spec = {
        "matchConstraints": {"resourceRules": [RULE]},
        "validations": [{"expression": "Object{a: 1} == null"}],
    }
    with pytest.raises(ApiError, match="undeclared reference to 'Object'"):
        await cluster.client.create(parsed(ValidatingAdmissionPolicy, metadata={"name": "p"}, spec=spec))

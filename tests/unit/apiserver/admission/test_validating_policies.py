"""Validating admission policies: CEL rules, their bindings and their parameters."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.admissionregistration_v1 import (
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
)
from podling.api.core_v1 import ConfigMap, Namespace, Pod
from podling.api.meta_v1 import ObjectMeta
from podling.client.requests import SYSTEM, ListOptions, Target, WriteOptions
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling.machinery.scheme import resource_of
from podling.testing import ControlPlane

RULE = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE"],
    "resources": ["configmaps"],
}


async def policy(cluster: ControlPlane, *validations: dict[str, Any], **spec: Any) -> None:
    constraints = {"resourceRules": [spec.pop("rule", RULE)]}
    whole = {"validations": list(validations), "matchConstraints": constraints, **spec}
    plain = {"metadata": {"name": "p"}, "spec": whole}
    await cluster.client.create(codec.convert(plain, ValidatingAdmissionPolicy)[0])


async def bind(cluster: ControlPlane, **spec: Any) -> None:
    whole = {"policyName": "p", "validationActions": ["Deny"], **spec}
    plain = {"metadata": {"name": "b"}, "spec": whole}
    await cluster.client.create(codec.convert(plain, ValidatingAdmissionPolicyBinding)[0])


def config_map(name: str = "a", namespace: str = "default", **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace), data=data)


async def refusal(cluster: ControlPlane, **data: str) -> str:
    """Return a policy's message about a config map without its prefix; empty if it is allowed."""
    try:
        await cluster.client.create(config_map(**data), dry_run=True)
    except ApiError as error:
        who = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: "
        text = str(error).removeprefix('configmaps "a" is forbidden: ')
        return text.removeprefix(who) if text.startswith(who) else f"somebody else: {text}"
    return ""


async def test_a_policy_without_a_binding_decides_nothing(cluster: ControlPlane) -> None:
    await policy(cluster, {"expression": "false"})
    assert await refusal(cluster) == ""


async def test_refusal_names_policy_binding_and_expression(cluster: ControlPlane) -> None:
    await policy(cluster, {"expression": "has(object.data) && object.data.k == 'v'"})
    await bind(cluster)
    await cluster.client.create(config_map(k="v"))
    with pytest.raises(ApiError) as error:
        await cluster.client.create(config_map("b"))
    who = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request"
    message = f"{who}: failed expression: has(object.data) && object.data.k == 'v'"
    assert (error.value.code, error.value.reason) == (422, "Invalid")
    assert str(error.value) == f'configmaps "b" is forbidden: {message}'
    details = error.value.status.details
    assert details is not None
    assert [cause.message for cause in details.causes] == [message]


@pytest.mark.parametrize(
    ("validation", "text"),
    [
        ({"expression": "false", "message": "no"}, "no"),
        ({"expression": "false", "messageExpression": "'not ' + object.metadata.name"}, "not a"),
        ({"expression": "false", "messageExpression": "string(object.nothing)", "message": "no"}, "no"),
        (
            {"expression": "object.nothing == 1"},
            "expression 'object.nothing == 1' resulted in error: no such key: nothing",
        ),
        ({"expression": "request.operation == 'CREATE' && oldObject == null"}, ""),
        ({"expression": "request.userInfo.groups.exists(g, g == 'system:masters')"}, ""),
        ({"expression": "namespaceObject.metadata.name == 'default'"}, ""),
        ({"expression": "has(namespaceObject.metadata.creationTimestamp)"}, ""),
    ],
)
async def test_message_of_each_failed_validation(
    cluster: ControlPlane, validation: dict[str, str], text: str
) -> None:
    await policy(cluster, validation)
    await bind(cluster)
    assert await refusal(cluster) == text


async def test_a_reason_decides_the_code(cluster: ControlPlane) -> None:
    await policy(cluster, {"expression": "false", "reason": "Forbidden"})
    await bind(cluster)
    with pytest.raises(ApiError) as error:
        await cluster.client.create(config_map())
    assert (error.value.code, error.value.reason) == (403, "Forbidden")


async def test_variables_are_evaluated_when_they_are_used(cluster: ControlPlane) -> None:
    variables = [
        {"name": "broken", "expression": "object.nothing"},
        {"name": "k", "expression": "object.data.k"},
        {"name": "twice", "expression": "variables.k + variables.k"},
    ]
    await policy(cluster, {"expression": "variables.twice == 'vv'"}, variables=variables)
    await bind(cluster)
    assert await refusal(cluster, k="v") == ""
    assert await refusal(cluster, k="w") == "failed expression: variables.twice == 'vv'"


async def test_evaluation_error_is_skipped_with_failure_policy_ignore(cluster: ControlPlane) -> None:
    await policy(cluster, {"expression": "object.nothing == 1"}, failurePolicy="Ignore")
    await bind(cluster)
    assert await refusal(cluster) == ""


async def test_match_conditions_select_the_requests(cluster: ControlPlane) -> None:
    condition = {"name": "named", "expression": "object.metadata.name.startsWith('b')"}
    await policy(cluster, {"expression": "false"}, matchConditions=[condition])
    await bind(cluster)
    assert await refusal(cluster) == ""


@pytest.mark.parametrize(
    ("resources", "text"),
    [
        ({}, "no"),
        ({"namespaceSelector": {"matchLabels": {"team": "x"}}}, ""),
        ({"objectSelector": {"matchLabels": {"x": "y"}}}, ""),
        ({"resourceRules": [{**RULE, "resourceNames": ["z"]}]}, ""),
        ({"excludeResourceRules": [{**RULE, "resourceNames": ["a"]}]}, ""),
    ],
)
async def test_a_binding_narrows_where_it_holds(
    cluster: ControlPlane, resources: dict[str, Any], text: str
) -> None:
    await policy(cluster, {"expression": "false", "message": "no"})
    await bind(cluster, matchResources=resources)
    assert await refusal(cluster) == text


async def test_parameters_are_found_by_name_and_selector(cluster: ControlPlane) -> None:
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    await policy(cluster, {"expression": "object.data.size() <= int(params.data.most)"}, paramKind=kind)
    await bind(cluster, paramRef={"name": "limits", "namespace": "rules", "parameterNotFoundAction": "Deny"})
    missing = "no params found for policy binding with `Deny` parameterNotFoundAction"
    assert await refusal(cluster) == f"failed to configure binding: {missing}"
    await cluster.client.create(Namespace(metadata=ObjectMeta(name="rules")))
    await cluster.client.delete(ValidatingAdmissionPolicyBinding, "b")
    await cluster.client.create(config_map("limits", "rules", most="1"))
    await bind(cluster, paramRef={"name": "limits", "namespace": "rules", "parameterNotFoundAction": "Deny"})
    assert await refusal(cluster, k="v") == ""
    assert (await refusal(cluster, k="v", l="w")).startswith("failed expression: ")


async def test_a_binding_may_only_warn(cluster: ControlPlane) -> None:
    await policy(cluster, {"expression": "false", "message": "no"})
    await bind(cluster, validationActions=["Warn", "Audit"])
    options = WriteOptions()
    await cluster.backend.create(Target(resource_of(ConfigMap), "default"), SYSTEM, config_map(), options)
    assert options.warnings == ["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': no"]


async def test_refusal_of_a_generated_name_uses_its_prefix(cluster: ControlPlane) -> None:
    """A refusal before there is one says how it begins; one about many objects names none."""
    metadata = {"generateName": "web-", "namespace": "default"}
    spec = {"containers": [{"name": "c", "image": "i"}], "priorityClassName": "none"}
    pod = codec.convert({"metadata": metadata, "spec": spec}, Pod)[0]
    with pytest.raises(ApiError) as error:
        await cluster.client.create(pod)
    assert str(error.value) == 'pods "web-" is forbidden: no PriorityClass with name none was found'
    await cluster.client.create(config_map())
    await policy(cluster, {"expression": "false", "message": "no"}, rule={**RULE, "operations": ["DELETE"]})
    await bind(cluster)
    with pytest.raises(ApiError) as error:
        await cluster.backend.delete_collection(
            Target(resource_of(ConfigMap), "default"), SYSTEM, ListOptions()
        )
    assert str(error.value).startswith('configmaps "Unknown" is forbidden: ')

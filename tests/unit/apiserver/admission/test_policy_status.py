"""Checks of policies: errors when they are written, warnings in their status."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.admissionregistration_v1 import (
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
)
from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane
from tests.support.custom_resources import definition

ANY = {"apiVersions": ["v1"], "operations": ["*"]}
DEPLOYMENTS = {**ANY, "apiGroups": ["apps"], "resources": ["deployments"]}
CONFIG_MAPS = {**ANY, "apiGroups": [""], "resources": ["configmaps"]}
V = "spec.validations[0]"


def policy(
    *validations: dict[str, Any], rule: dict[str, Any] = CONFIG_MAPS, **spec: Any
) -> ValidatingAdmissionPolicy:
    constraints = {"resourceRules": [rule]}
    plain = {
        "metadata": {"name": "p"},
        "spec": {"validations": list(validations), "matchConstraints": constraints, **spec},
    }
    return codec.convert(plain, ValidatingAdmissionPolicy)[0]


async def bind(cluster: ControlPlane, *actions: str, **spec: Any) -> None:
    whole = {"policyName": "p", "validationActions": actions or ["Deny"], **spec}
    plain = {"metadata": {"name": "b"}, "spec": whole}
    await cluster.client.create(codec.convert(plain, ValidatingAdmissionPolicyBinding)[0])


async def refusal(cluster: ControlPlane) -> ApiError:
    with pytest.raises(ApiError) as error:
        await cluster.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
    return error.value


ONE = {"expression": "true"}


@pytest.mark.parametrize(
    ("wrong", "field", "text"),
    [
        (
            policy({"expression": "objekt.x == 1"}),
            f"{V}.expression",
            "undeclared reference to 'objekt'",
        ),
        (policy({"expression": "1 + 1"}), f"{V}.expression", "must evaluate to bool"),
        (policy({"expression": "object.x"}), f"{V}.expression", "must evaluate to bool"),
        (
            policy({"expression": "request.uid == ''"}),
            f"{V}.expression",
            "undefined field 'uid'",
        ),
        (
            policy({"expression": "params.x == 1"}),
            f"{V}.expression",
            "undeclared reference to 'params'",
        ),
        (
            policy({**ONE, "messageExpression": "1"}),
            f"{V}.messageExpression",
            "must evaluate to string",
        ),
        (
            policy({**ONE, "messageExpression": "authorizer.path('/').check('get').reason()"}),
            f"{V}.messageExpression",
            "undeclared reference to 'authorizer'",
        ),
        (
            policy({"expression": "variables.b == 1"}, variables=[{"name": "a", "expression": "1"}]),
            f"{V}.expression",
            "undefined field 'b'",
        ),
        (
            policy(
                ONE,
                variables=[{"name": "a", "expression": "variables.b"}, {"name": "b", "expression": "1"}],
            ),
            "spec.variables[0].expression",
            "undefined field 'b'",
        ),
        (
            policy(ONE, matchConditions=[{"name": "n", "expression": "variables.a"}]),
            "spec.matchConditions[0].expression",
            "undeclared reference to 'variables'",
        ),
        (
            policy(ONE, auditAnnotations=[{"key": "k", "valueExpression": "1"}]),
            "spec.auditAnnotations[0].valueExpression",
            "must evaluate to one of [string null_type]",
        ),
    ],
)
async def test_expressions_are_checked_against_their_variables(
    cluster: ControlPlane, wrong: ValidatingAdmissionPolicy, field: str, text: str
) -> None:
    with pytest.raises(ApiError) as error:
        await cluster.client.create(wrong)
    details = error.value.status.details
    assert details is not None
    (cause,) = details.causes
    assert cause.field_ == field
    assert text in (cause.message or "")


async def test_a_field_that_the_kind_lacks_is_a_warning(cluster: ControlPlane) -> None:
    """The words are those of the documentation of policies."""
    await cluster.client.create(
        policy(
            {"expression": "object.replicas > 1", "messageExpression": "'of ' + object.name"},
            rule=DEPLOYMENTS,
        )
    )
    await cluster.advance(seconds=1)
    status = (await cluster.client.get(ValidatingAdmissionPolicy, "p")).status
    assert status.observed_generation == 1
    assert status.type_checking is not None
    first, second = status.type_checking.expression_warnings
    assert first.field_ref == f"{V}.expression"
    assert first.warning == (
        "apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'replicas'\n"
        " | object.replicas > 1\n"
        " | ......^\n"
    )
    assert second.field_ref == f"{V}.messageExpression"


async def test_custom_kinds_are_held_to_their_schemas(cluster: ControlPlane) -> None:
    size = {"type": "object", "properties": {"size": {"type": "integer"}}}
    await cluster.client.create(definition({"type": "object", "properties": {"spec": size}}))
    await cluster.advance(seconds=1)
    widgets = {**ANY, "apiGroups": ["example.com"], "resources": ["widgets"]}
    fits = {"expression": "object.spec.size > 1 && object.metadata.labels['a'] == 'b'"}
    await cluster.client.create(policy(fits, {"expression": "object.spec.width > 1"}, rule=widgets))
    await cluster.advance(seconds=1)
    found = (await cluster.client.get(ValidatingAdmissionPolicy, "p")).status.type_checking
    assert found is not None
    (warning,) = found.expression_warnings
    assert warning.field_ref == "spec.validations[1].expression"
    assert warning.warning.startswith(
        "example.com/v1, Kind=Widget: ERROR: <input>:1:12: undefined field 'width'"
    )


async def test_the_status_follows_the_policy(cluster: ControlPlane) -> None:
    await cluster.client.create(policy({"expression": "object.spec.replicas > 'x'"}, rule=DEPLOYMENTS))
    await cluster.advance(seconds=1)
    rules = {"matchConstraints": {"resourceRules": [{**DEPLOYMENTS, "resources": ["*"]}]}}
    await cluster.client.patch(ValidatingAdmissionPolicy, "p", {"spec": rules})
    await cluster.advance(seconds=1)
    status = (await cluster.client.get(ValidatingAdmissionPolicy, "p")).status
    assert status.observed_generation == 2
    assert status.type_checking is not None
    assert status.type_checking.expression_warnings == (), "rules that name no kind outright are not checked"


@pytest.mark.parametrize(
    "expression",
    [
        "object.spec.template.spec.containers.all(c, c.image.startsWith('a/'))",
        "object.metadata.namespace == 'x' && object.metadata.labels['a'] == 'b'",
        "object.spec.strategy.rollingUpdate.maxSurge == '25%'",
        "quantity(object.spec.template.spec.containers[0].resources.limits['cpu']).isLessThan(quantity('1'))",
        "object.metadata.creationTimestamp < timestamp('2030-01-01T00:00:00Z')",
        "oldObject == null || object.spec.replicas >= oldObject.spec.replicas",
        "!has(object.spec.paused) || !object.spec.paused",
    ],
)
async def test_well_typed_expression_has_no_warning(cluster: ControlPlane, expression: str) -> None:
    await cluster.client.create(policy({"expression": expression}, rule=DEPLOYMENTS))
    await cluster.advance(seconds=1)
    found = (await cluster.client.get(ValidatingAdmissionPolicy, "p")).status.type_checking
    assert found is not None
    assert found.expression_warnings == ()


async def test_evaluation_error_is_invalid_despite_the_reason_of_the_validation(
    cluster: ControlPlane,
) -> None:
    await cluster.client.create(policy({"expression": "object.nothing == 1", "reason": "Forbidden"}))
    await bind(cluster)
    error = await refusal(cluster)
    assert (error.code, error.reason) == (422, "Invalid")


async def test_failing_variable_fails_the_validation(cluster: ControlPlane) -> None:
    variables = [{"name": "a", "expression": "object.nothing"}]
    await cluster.client.create(policy({"expression": "variables.a == 1"}, variables=variables))
    await bind(cluster)
    assert str(await refusal(cluster)).endswith(
        "expression 'variables.a == 1' resulted in error: "
        'composited variable "a" fails to evaluate: no such key: nothing'
    )


@pytest.mark.parametrize("policy_fails", ["Fail", "Ignore"])
async def test_an_annotation_that_cannot_be_evaluated(cluster: ControlPlane, policy_fails: str) -> None:
    """The failure policy alone decides, for any validation actions."""
    annotations = [{"key": "k", "valueExpression": "string(object.nothing)"}]
    await cluster.client.create(policy(auditAnnotations=annotations, failurePolicy=policy_fails))
    await bind(cluster, "Audit")
    if policy_fails == "Fail":
        text = "expression 'string(object.nothing)' resulted in error: no such key: nothing"
        assert str(await refusal(cluster)).endswith(f"with binding 'b' denied request: {text}")
    else:
        await cluster.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))


async def test_annotations_and_audited_failures_are_logged(
    cluster: ControlPlane, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    annotations = [{"key": "k", "valueExpression": "'name is ' + object.metadata.name"}]
    await cluster.client.create(
        policy({"expression": "false", "message": "no"}, auditAnnotations=annotations)
    )
    await bind(cluster, "Audit")
    await cluster.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
    assert "p/k: name is a" in caplog.messages
    assert "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': no" in caplog.messages


async def test_a_kind_of_parameters_that_does_not_exist(cluster: ControlPlane) -> None:
    """Such a policy refuses for any validation actions of its bindings."""
    kind = {"apiVersion": "example.com/v1", "kind": "Limit"}
    await cluster.client.create(policy(ONE, paramKind=kind))
    await bind(cluster, "Audit", paramRef={"name": "l", "parameterNotFoundAction": "Allow"})
    text = "failed to find resource referenced by paramKind: 'example.com/v1, Kind=Limit'"
    assert str(await refusal(cluster)).endswith(
        f"ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: {text}"
    )


async def test_optional_parameters_may_be_missing(cluster: ControlPlane) -> None:
    await cluster.client.create(
        policy({"expression": "false"}, paramKind={"apiVersion": "v1", "kind": "ConfigMap"})
    )
    await bind(cluster, paramRef={"name": "limits", "parameterNotFoundAction": "Allow"})
    await cluster.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))

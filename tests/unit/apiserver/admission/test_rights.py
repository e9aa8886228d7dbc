"""``authorizer`` in expressions: the server's decision about the requesting user or a service account."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.admissionregistration_v1 import (
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingWebhookConfiguration,
)
from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from podling.api.rbac_v1 import (
    ClusterRole,
    ClusterRoleBinding,
    PolicyRule,
    RoleRef,
    Subject,
)
from podling.client.requests import User
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane
from tests.support.webhooks import Hook, configure

BOB = User("bob", ("system:authenticated",))
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}


async def grant(cluster: ControlPlane, subject: Subject, **rule: Any) -> None:
    """Bind a new ClusterRole with one rule to a subject."""
    metadata = ObjectMeta(name=subject.name)
    await cluster.client.create(ClusterRole(metadata=metadata, rules=(PolicyRule(**rule),)))
    ref = RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name=subject.name)
    await cluster.client.create(ClusterRoleBinding(metadata=metadata, role_ref=ref, subjects=(subject,)))


@pytest.fixture
async def rights(cluster: ControlPlane) -> None:
    """Bob may create config maps and read metrics; the robot may delete pods."""
    bob = Subject(kind="User", name="bob", api_group="rbac.authorization.k8s.io")
    await grant(cluster, bob, api_groups=("",), resources=("configmaps",), verbs=("create",))
    readers = Subject(kind="User", name="readers", api_group="rbac.authorization.k8s.io")
    await grant(cluster, readers, non_resource_urls=("/metrics",), verbs=("get",))
    binding = await cluster.client.get(ClusterRoleBinding, "readers")
    extended = codec.to_plain(binding) | {"subjects": [codec.to_plain(bob)]}
    await cluster.client.update(codec.convert(extended, ClusterRoleBinding)[0])
    robot = Subject(kind="ServiceAccount", name="robot", namespace="default")
    await grant(cluster, robot, api_groups=("",), resources=("pods",), verbs=("delete",))


def config_map() -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name="a", namespace="default"))


@pytest.mark.usefixtures("rights")
@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("authorizer.group('').resource('configmaps').namespace('x').check('create').allowed()", ""),
        ("!authorizer.group('').resource('configmaps').check('delete').allowed()", ""),
        ("!authorizer.group('apps').resource('configmaps').check('create').allowed()", ""),
        ("!authorizer.group('').resource('configmaps').subresource('x').check('create').allowed()", ""),
        ("authorizer.requestResource.check('create').allowed()", ""),
        ("!authorizer.requestResource.check('patch').allowed()", ""),
        ("authorizer.path('/metrics').check('get').allowed()", ""),
        ("!authorizer.path('/secret').check('get').allowed()", ""),
        (
            "authorizer.serviceAccount('default', 'robot').group('').resource('pods')"
            ".namespace('default').name('p').check('delete').allowed()",
            "",
        ),
        (
            "!authorizer.serviceAccount('default', 'other').group('').resource('pods')"
            ".check('delete').allowed()",
            "",
        ),
        (
            "authorizer.group('').resource('configmaps').fieldSelector('a=b').labelSelector('c=d')"
            ".check('create').allowed()",
            "",
        ),
        (
            "authorizer.requestResource.check('create').reason() == 'RBAC: allowed by ClusterRoleBinding "
            '"bob" of ClusterRole "bob" to User "bob"\'',
            "",
        ),
        ("!authorizer.requestResource.check('get').errored()", ""),
        ("authorizer.requestResource.check('get').error() == ''", ""),
        ("authorizer.path(' ').check('get').allowed()", "path must not be empty"),
        ("authorizer.group('').resource('').check('get').allowed()", "resource must not be empty"),
        (
            "authorizer.serviceAccount('a.b', 'c').requestResource.check('get').allowed()",
            None,
        ),
        (
            "authorizer.serviceAccount('a.b', 'c').path('/').check('get').allowed()",
            "Invalid service account namespace",
        ),
    ],
)
async def test_validations_may_query_the_authorizer(
    cluster: ControlPlane, expression: str, text: str | None
) -> None:
    spec: dict[str, Any] = {
        "matchConstraints": {"resourceRules": [RULE]},
        "validations": [{"expression": expression, "message": "no"}],
    }
    plain = {"metadata": {"name": "p"}, "spec": spec}
    creating = cluster.client.create(codec.convert(plain, ValidatingAdmissionPolicy)[0])
    if text is None:
        with pytest.raises(ApiError, match="does not support field selection"):
            await creating
        return
    await creating
    plain = {"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}}
    await cluster.client.create(codec.convert(plain, ValidatingAdmissionPolicyBinding)[0])
    if not text:
        await cluster.client_for(BOB).create(config_map())
        return
    with pytest.raises(ApiError, match=text):
        await cluster.client_for(BOB).create(config_map())


@pytest.mark.usefixtures("rights")
@pytest.mark.asyncio(loop_factories=["real"])
async def test_match_conditions_of_webhooks_may_query_the_authorizer(
    cluster: ControlPlane, hook: Hook
) -> None:
    condition = {"name": "n", "expression": "!authorizer.requestResource.check('patch').allowed()"}
    await configure(cluster, ValidatingWebhookConfiguration, hook.webhook(matchConditions=[condition]))
    await cluster.client.create(config_map())
    assert hook.asked == [], "the server itself may do everything"
    await cluster.client.delete(ConfigMap, "a", "default")
    await cluster.client_for(BOB).create(config_map())
    assert [each["userInfo"]["username"] for each in hook.asked] == ["bob"]

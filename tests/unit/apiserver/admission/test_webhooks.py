"""Admission webhooks: calls over HTTPS, their answers, patches and failures."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from podling.api.admissionregistration_v1 import (
    MutatingWebhookConfiguration,
    ValidatingWebhookConfiguration,
)
from podling.api.core_v1 import (
    ConfigMap,
    Container,
    LimitRange,
    LimitRangeItem,
    LimitRangeSpec,
    Namespace,
    Pod,
    PodSpec,
)
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.http.metrics import exposition
from podling.client.requests import SYSTEM, ListOptions, Target, WriteOptions
from podling.machinery.errors import ApiError
from podling.machinery.scheme import resource_of
from podling.testing import ControlPlane
from tests.support.counts import samples
from tests.support.webhooks import EVERYTHING, Answer, Hook, configure, label, patch

pytestmark = pytest.mark.asyncio(loop_factories=["real"])


def config_map(name: str = "a", **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data=data)


async def refusal(plane: ControlPlane) -> ApiError:
    with pytest.raises(ApiError) as error:
        await plane.client.create(config_map())
    return error.value


async def test_review_holds_request_and_objects(plane: ControlPlane, hook: Hook) -> None:
    await configure(plane, ValidatingWebhookConfiguration, hook.webhook(timeoutSeconds=7))
    first = await plane.client.create(config_map(k="1"))
    await plane.client.patch(ConfigMap, "a", {"data": {"k": "2"}}, "default")
    await plane.client.delete(ConfigMap, "a", "default")
    created, updated, deleted = hook.asked
    assert hook.paths[0] == "/admit?timeout=7s"
    assert [each["operation"] for each in hook.asked] == ["CREATE", "UPDATE", "DELETE"]
    assert created["kind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert created["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert (created["name"], created["namespace"], created["dryRun"]) == ("a", "default", False)
    assert created["userInfo"] == {"username": SYSTEM.name, "groups": list(SYSTEM.groups)}
    assert (created["object"]["data"], created["oldObject"]) == ({"k": "1"}, None)
    assert created["object"]["metadata"]["uid"] == first.metadata.uid
    assert (updated["object"]["data"], updated["oldObject"]["data"]) == ({"k": "2"}, {"k": "1"})
    assert (deleted["object"], deleted["oldObject"]["data"]) == (None, {"k": "2"})


@pytest.mark.parametrize(
    ("status", "code", "text"),
    [
        ({"message": "no such thing"}, 400, "denied the request: no such thing"),
        ({"code": 403, "reason": "Forbidden"}, 403, "denied the request: Forbidden"),
        (None, 400, "denied the request without explanation"),
    ],
)
async def test_refusal_has_the_message_of_the_webhook(
    plane: ControlPlane, hook: Hook, status: dict[str, Any] | None, code: int, text: str
) -> None:
    hook.answer = lambda _asked: {"allowed": False, "status": status}
    await configure(plane, ValidatingWebhookConfiguration, hook.webhook())
    error = await refusal(plane)
    assert (error.code, str(error)) == (code, f'admission webhook "a.example.com" {text}')
    assert (await plane.client.list(ConfigMap, "default")).items == ()


async def test_warnings_are_passed_on(plane: ControlPlane, hook: Hook) -> None:
    hook.answer = lambda _asked: {"allowed": True, "warnings": ["mind the gap"]}
    await configure(plane, ValidatingWebhookConfiguration, hook.webhook())
    options = WriteOptions()
    target = Target(resource_of(ConfigMap), "default")
    await plane.backend.create(target, SYSTEM, config_map(), options)
    assert options.warnings == ["mind the gap"]


async def test_audit_annotations_are_logged(
    plane: ControlPlane, hook: Hook, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    hook.answer = lambda _asked: {"allowed": True, "auditAnnotations": {"k": "v"}}
    await configure(plane, ValidatingWebhookConfiguration, hook.webhook())
    await plane.client.create(config_map())
    assert "a.example.com/k: v" in caplog.messages


async def test_changes_are_made_one_after_the_other(plane: ControlPlane, hook: Hook) -> None:
    def answer(asked: dict[str, Any]) -> Answer:
        labels = asked["object"]["metadata"].get("labels", {})
        return patch({"op": "add", "path": "/data", "value": labels}) if labels else patch(label("first"))

    hook.answer = answer
    again = hook.webhook("a.example.com", reinvocationPolicy="IfNeeded")
    await configure(plane, MutatingWebhookConfiguration, again, hook.webhook("b.example.com"))
    made = await plane.client.create(config_map())
    assert (made.metadata.labels, made.data) == ({"first": "yes"}, {"first": "yes"})
    assert len(hook.asked) == 3, "who wishes sees what was made after it"
    assert hook.asked[2]["object"]["data"] == {"first": "yes"}


async def test_other_plugins_run_again_after_a_webhook_changed_the_object(
    plane: ControlPlane, hook: Hook
) -> None:
    """An added container gets the namespace's default limits."""
    limit = LimitRangeItem(type="Container", default={"cpu": "1"}, default_request={"cpu": "1"})
    ranges = LimitRange(
        metadata=ObjectMeta(name="l", namespace="default"), spec=LimitRangeSpec(limits=(limit,))
    )
    await plane.client.create(ranges)
    sidecar = {"name": "sidecar", "image": "i"}
    hook.answer = lambda _asked: patch({"op": "add", "path": "/spec/containers/-", "value": sidecar})
    await configure(
        plane, MutatingWebhookConfiguration, hook.webhook(rules=[{**EVERYTHING, "resources": ["pods"]}])
    )
    pod = Pod(
        metadata=ObjectMeta(name="p", namespace="default"),
        spec=PodSpec(containers=(Container(name="c", image="i"),)),
    )
    made = await plane.client.create(pod)
    limits = {each.name: each.resources and each.resources.limits for each in made.spec.containers}
    assert limits == {"c": {"cpu": "1"}, "sidecar": {"cpu": "1"}}
    assert len(hook.asked) == 1, "nobody changed anything after it that it wishes to see"


async def test_a_condition_that_cannot_be_evaluated_refuses(plane: ControlPlane, hook: Hook) -> None:
    conditions = [{"name": "n", "expression": "object.nothing == 1"}]
    await configure(plane, ValidatingWebhookConfiguration, hook.webhook(matchConditions=conditions))
    error = await refusal(plane)
    text = "expression 'object.nothing == 1' resulted in error: no such key: nothing"
    assert (error.code, str(error)) == (403, f'configmaps "a" is forbidden: {text}')
    await plane.client.delete(ValidatingWebhookConfiguration, "c")
    webhook = hook.webhook(matchConditions=conditions, failurePolicy="Ignore")
    await configure(plane, ValidatingWebhookConfiguration, webhook)
    await plane.client.create(config_map())
    assert hook.asked == []


async def test_patch_that_does_not_apply_is_an_internal_error(plane: ControlPlane, hook: Hook) -> None:
    hook.answer = lambda _asked: patch({"op": "add", "path": "/spec/nothing/here", "value": "x"})
    await configure(plane, MutatingWebhookConfiguration, hook.webhook())
    error = await refusal(plane)
    why = 'add operation does not apply: doc is missing path: "/spec/nothing/here": missing value'
    assert (error.code, str(error)) == (500, f"Internal error occurred: {why}")
    assert error.status.details is not None
    assert [cause.message for cause in error.status.details.causes] == [why]


async def test_patched_object_is_validated(plane: ControlPlane, hook: Hook) -> None:
    hook.answer = lambda _asked: patch(label("no good name!"))
    await configure(plane, MutatingWebhookConfiguration, hook.webhook())
    assert (await refusal(plane)).code == 422


async def test_webhook_configurations_are_not_reviewed(plane: ControlPlane, hook: Hook) -> None:
    rules = [{**EVERYTHING, "resources": ["*/*"]}]
    hook.answer = lambda _asked: {"allowed": False}
    await configure(plane, ValidatingWebhookConfiguration, hook.webhook(rules=rules))
    await plane.client.delete(ValidatingWebhookConfiguration, "c")
    await plane.client.create(Namespace(metadata=ObjectMeta(name="free")))
    assert hook.asked == []


NOWHERE = {"service": {"name": "hook", "namespace": "default", "path": "/x"}}


@pytest.mark.parametrize("kind", [MutatingWebhookConfiguration, ValidatingWebhookConfiguration])
async def test_failure_policy_decides_about_an_unreachable_webhook(
    plane: ControlPlane, hook: Hook, kind: type[Any]
) -> None:
    await configure(plane, kind, hook.webhook(clientConfig=NOWHERE))
    error = await refusal(plane)
    assert (error.code, str(error)) == (
        500,
        'Internal error occurred: failed calling webhook "a.example.com": failed to call webhook: Post '
        '"https://hook.default.svc:443/x?timeout=10s": service "hook" not found',
    )
    await plane.client.delete(kind, "c")
    await configure(plane, kind, hook.webhook(clientConfig=NOWHERE, failurePolicy="Ignore"))
    assert (await plane.client.create(config_map())).metadata.uid


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"uid": "other", "allowed": True}, "received invalid webhook response: expected response.uid="),
        (
            {"allowed": True, "patch": "W10="},
            "received invalid webhook response: webhook returned response.patch but not response.patchType",
        ),
        (
            {"allowed": True, "patch": "W10=", "patchType": "Merge"},
            'unsupported patch type "Merge"',
        ),
        (
            {"allowed": True, "patchType": "JSONPatch"},
            "received invalid webhook response: webhook returned response.patchType but not response.patch",
        ),
        (
            {"uid": "", "allowed": True},
            'received invalid webhook response: expected response.uid="',
        ),
    ],
)
async def test_malformed_answers_fail_the_call(
    plane: ControlPlane, hook: Hook, answer: Answer, text: str
) -> None:
    hook.answer = lambda _asked: answer
    await configure(plane, MutatingWebhookConfiguration, hook.webhook())
    said = f'Internal error occurred: failed calling webhook "a.example.com": {text}'
    assert str(await refusal(plane)).startswith(said)


async def test_failed_connections_are_reported_as_by_go(plane: ControlPlane, hook: Hook) -> None:
    failed = 'Internal error occurred: failed calling webhook "a.example.com": failed to call webhook: '
    url = hook.client["url"]

    async def said(**client: str) -> str:
        await configure(plane, ValidatingWebhookConfiguration, hook.webhook(clientConfig=client))
        text = str(await refusal(plane))
        await plane.client.delete(ValidatingWebhookConfiguration, "c")
        assert text.startswith(failed)
        return text.removeprefix(failed)

    untrusted = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
    assert await said(url=url) == f'Post "{url}?timeout=10s": {untrusted}'
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    refused = f"dial tcp {address}: connect: connection refused"
    assert await said(url=f"https://{address}/x") == f'Post "https://{address}/x?timeout=10s": {refused}'
    hook.code, hook.answer = 500, lambda _asked: {"allowed": True}
    assert (await said(**hook.client)).startswith("an error on the server (")
    hook.code = 404
    assert await said(**hook.client) == "the server could not find the requested resource"


async def test_webhook_times_out_after_its_timeout_seconds(plane: ControlPlane, hook: Hook) -> None:
    hook.waits = asyncio.Event()
    await configure(plane, ValidatingWebhookConfiguration, hook.webhook(timeoutSeconds=1))
    text = f'Post "{hook.client["url"]}?timeout=1s": context deadline exceeded'
    assert str(await refusal(plane)).endswith(f"failed to call webhook: {text}")
    hook.waits.set()


async def test_update_without_changes_is_reviewed(plane: ControlPlane, hook: Hook) -> None:
    await plane.client.create(config_map(k="v"))
    hook.answer = lambda _asked: {"allowed": False}
    await configure(plane, ValidatingWebhookConfiguration, hook.webhook())
    with pytest.raises(ApiError, match="without explanation"):
        await plane.client.patch(ConfigMap, "a", {"data": {"k": "v"}}, "default")


async def test_dry_run_is_marked_in_the_review(plane: ControlPlane, hook: Hook) -> None:
    await configure(plane, ValidatingWebhookConfiguration, hook.webhook())
    await plane.client.create(config_map(), dry_run=True)
    assert hook.asked[0]["dryRun"] is True


async def test_collections_are_deleted_one_by_one(plane: ControlPlane, hook: Hook) -> None:
    for name in ("a", "b"):
        await plane.client.create(config_map(name))
    await configure(plane, ValidatingWebhookConfiguration, hook.webhook())
    target = Target(resource_of(ConfigMap), "default")
    await plane.backend.delete_collection(target, SYSTEM, ListOptions())
    assert [each["oldObject"]["metadata"]["name"] for each in hook.asked] == ["a", "b"]
    assert not any("name" in each for each in hook.asked), "the request names none of them"


async def test_nulls_in_a_status_are_absent(plane: ControlPlane, hook: Hook) -> None:
    status = {"code": 403, "message": None, "reason": None, "details": {"name": None}}
    hook.answer = lambda asked: {"allowed": False, "status": status}
    await configure(plane, ValidatingWebhookConfiguration, hook.webhook())
    with pytest.raises(ApiError) as error:
        await plane.client.create(config_map())
    assert error.value.code == 403


async def test_calls_and_refusals_are_counted(plane: ControlPlane, hook: Hook) -> None:
    def counted(name: str) -> dict[tuple[str, ...], float]:
        return samples(plane.server.collectors, f"apiserver_admission_webhook_{name}")

    hook.answer = lambda asked: {"allowed": asked["name"] == "a", "status": {"code": 403}}
    good = hook.webhook()
    deaf = hook.webhook("b.example.com", clientConfig=NOWHERE, failurePolicy="Ignore")
    await configure(plane, ValidatingWebhookConfiguration, good, deaf)
    await plane.client.create(config_map())
    with pytest.raises(ApiError):
        await plane.client.create(config_map("other"))
    assert counted("admission_duration_seconds_count") == {
        ("a.example.com", "CREATE", "false", "validating"): 1,
        ("a.example.com", "CREATE", "true", "validating"): 1,
        ("b.example.com", "CREATE", "false", "validating"): 2,
    }
    assert counted("request_total") == {
        ("a.example.com", "CREATE", "false", "validating", "200"): 1,
        ("a.example.com", "CREATE", "true", "validating", "403"): 1,
        ("b.example.com", "CREATE", "false", "validating", "503"): 2,
    }
    refused = ("a.example.com", "CREATE", "validating", "no_error", "403")
    assert counted("rejection_count_total") == {refused: 1}
    assert counted("fail_open_count_total") == {("b.example.com", "validating"): 2}
    text = exposition([each for one in plane.server.collectors for each in one.collect()])
    assert b"# TYPE apiserver_admission_webhook_rejection_count counter" in text, (
        "Kubernetes' name, in the end"
    )

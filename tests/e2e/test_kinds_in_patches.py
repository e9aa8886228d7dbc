"""A patch may name a kind: strategic merge patches need not heed it, the others are decoded by it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.wire import Answer, Caller

pytestmark = pytest.mark.e2e

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
PODS = "/api/v1/namespaces/default/pods"
POD_SPEC = {"containers": [{"name": "c", "image": "i"}]}
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": POD_SPEC}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE},
}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": POD_SPEC}
SCALE = f"{DEPLOYMENTS}/web/scale"


async def patch(call: Caller, path: str, body: Any, kind: str = "strategic-merge-patch") -> Answer:
    return await call("PATCH", path, body, Content_Type=f"application/{kind}+json")


async def test_strategic_patch_of_scale_may_name_parent_kind(call: Caller) -> None:
    await call("POST", DEPLOYMENTS, DEPLOYMENT)
    answer = await patch(call, SCALE, {**DEPLOYMENT, "spec": {"replicas": 3}})
    shown = json.loads(answer.body)
    assert (answer.code, shown["kind"], shown["spec"]) == (200, "Scale", {"replicas": 3})
    stored = json.loads((await call("GET", f"{DEPLOYMENTS}/web")).body)
    assert (stored["kind"], stored["apiVersion"], stored["spec"]["replicas"]) == ("Deployment", "apps/v1", 3)


@pytest.mark.parametrize(
    "path", [SCALE, f"{DEPLOYMENTS}/web", f"{DEPLOYMENTS}/web/status", f"{PODS}/p/resize", f"{PODS}/p"]
)
@pytest.mark.parametrize(
    "said", [{"kind": "Service", "apiVersion": "v1"}, {"kind": "Nothing"}, {"apiVersion": "nothing/v1"}]
)
async def test_strategic_patch_may_name_any_kind(call: Caller, path: str, said: dict[str, str]) -> None:
    await call("POST", DEPLOYMENTS, DEPLOYMENT)
    await call("POST", PODS, POD)
    before = json.loads((await call("GET", path)).body)
    answer = await patch(call, path, said)
    after = json.loads(answer.body)
    assert (answer.code, after["kind"], after["apiVersion"]) == (200, before["kind"], before["apiVersion"])
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


async def test_strategic_patch_refuses_kind_that_is_no_text(call: Caller) -> None:
    await call("POST", DEPLOYMENTS, DEPLOYMENT)
    answer = await patch(call, SCALE, {"kind": 3})
    assert (answer.code, "unrecognized type: string" in json.loads(answer.body)["message"]) == (422, True)


async def test_merge_patch_is_decoded_by_kind_it_names(call: Caller) -> None:
    await call("POST", DEPLOYMENTS, DEPLOYMENT)
    for said, why in (
        (DEPLOYMENT, "converting (v1.Deployment) to (autoscaling.Scale): unknown conversion"),
        ({"kind": "Nothing"}, 'no kind "Nothing" is registered for version "autoscaling/v1"'),
    ):
        answer = await patch(call, SCALE, said, "merge-patch")
        assert (answer.code, why in json.loads(answer.body)["message"]) == (422, True)
    named = {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 2}}
    assert (await patch(call, SCALE, named, "merge-patch")).code == 200

"""Requests that are almost valid get the same answer as from Kubernetes: code, reason and message."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.wire import Caller

pytestmark = pytest.mark.e2e

JSON = "application/json"
APPLY = "application/apply-patch+yaml"
JSON_PATCH = "application/json-patch+json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
DEFAULT = "/api/v1/namespaces/default"
MAPS = f"{DEFAULT}/configmaps"
PODS = f"{DEFAULT}/pods"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

NOT_FOUND = 'configmaps "b" not found'
OTHER_UID = (
    'Operation cannot be fulfilled on configmaps "b": StorageError: invalid object, Code: 4, '
    "Key: /registry/configmaps/default/b, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
    "UID in precondition: x, UID in object meta: "
)
MANY = "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
ONLY = "only the following media types are accepted: application/json, application/yaml"
NO_TOKEN = "invalid continue token: continue key is not valid"
NO_NAME = 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required'
BAD_YAML = "yaml: mapping values are not allowed in this context"
UNREADABLE = "the object provided is unrecognized (must be of type ConfigMap)"
OWNERS = 'ConfigMap "b" is invalid: metadata.ownerReferences'
BY_EVENT = (
    OWNERS + ': Invalid value: {"apiVersion":"v1","kind":"Event","name":"p","uid":"u"}: '
    "/v1, Kind=Event is disallowed from being an owner"
)
BARE = (
    'ConfigMap "b" is invalid: metadata.finalizers[1]: Invalid value: "c": '
    "name is neither a standard finalizer name nor is it fully qualified"
)
UNDECLARED = (
    "failed to create typed patch object (default/a; /v1, Kind=ConfigMap): "
    ".none: field not declared in schema"
)
PARTIAL = f"{JSON};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIALS = f"{JSON};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
A_LIST = "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)"
NO_LIST = "you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)"


def config_map(name: str = "a", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **fields}


def of(**metadata: Any) -> dict[str, Any]:
    return config_map(metadata={"name": "b", **metadata})


def owner(**fields: str) -> dict[str, Any]:
    return of(ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", **fields}])


BODIES: list[tuple[str, str, Any, str, int, str | None, str]] = [
    ("PUT", f"{MAPS}/b", of(), JSON, 404, "NotFound", NOT_FOUND),
    ("PUT", f"{MAPS}/b", of(uid="x"), JSON, 409, "Conflict", OTHER_UID),
    ("POST", MAPS, "null", JSON, 422, "Invalid", NO_NAME),
    (
        "POST",
        MAPS,
        "a: b: c",
        "application/yaml",
        400,
        "BadRequest",
        f"{UNREADABLE}: {BAD_YAML} (613a20623a2063)",
    ),
    (
        "POST",
        MAPS,
        owner(apiVersion=""),
        JSON,
        422,
        "Invalid",
        f'{OWNERS}.apiVersion: Invalid value: "": version must not be empty',
    ),
    (
        "POST",
        MAPS,
        owner(apiVersion="a/b/c"),
        JSON,
        422,
        "Invalid",
        f'{OWNERS}.apiVersion: Invalid value: "a/b/c": version must not be empty',
    ),
    (
        "POST",
        MAPS,
        owner(uid=""),
        JSON,
        422,
        "Invalid",
        f'{OWNERS}.uid: Invalid value: "": must not be empty',
    ),
    ("POST", MAPS, owner(kind="Event"), JSON, 422, "Invalid", BY_EVENT),
    ("POST", MAPS, of(finalizers=["a/b", "c"]), JSON, 422, "Invalid", BARE),
    (
        "PATCH",
        f"{MAPS}/a",
        [{"op": "test", "path": "/data/x"}] * 10_001,
        JSON_PATCH,
        413,
        "RequestEntityTooLarge",
        MANY,
    ),
    (
        "PATCH",
        f"{MAPS}/a?fieldManager=m",
        config_map(apiVersion="v2"),
        APPLY,
        400,
        "BadRequest",
        "invalid object type: /v2, Kind=ConfigMap",
    ),
    (
        "PATCH",
        f"{MAPS}/a?fieldManager=m",
        {"metadata": {"name": "a"}},
        APPLY,
        400,
        "BadRequest",
        "invalid object type: /, Kind=",
    ),
    (
        "PATCH",
        f"{MAPS}/a?fieldManager=m",
        "a: b: c",
        APPLY,
        400,
        "BadRequest",
        f"error decoding YAML: error converting YAML to JSON: {BAD_YAML}",
    ),
    ("PATCH", f"{MAPS}/a?fieldManager=m", config_map(none=1), APPLY, 500, None, UNDECLARED),
    (
        "POST",
        f"{PODS}/a/binding",
        {"metadata": {"name": "b"}, "target": {"name": "n"}},
        JSON,
        400,
        "BadRequest",
        "name in URL does not match name in Binding object",
    ),
    (
        "POST",
        f"{PODS}/a/eviction",
        {"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": "a"}},
        JSON,
        404,
        "NotFound",
        'pods "a" not found',
    ),
]


UNFIT = "the server rejected our request due to an error in our request"
NO_OBJECT = "json: cannot unmarshal {} into Go value of type {}"
NO_MAP, NO_OPERATIONS = "map[string]interface {}", "[]handlers.jsonPatchOp"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
ENDED = "unexpected end of JSON input"
TWICE = (
    'failed to create typed patch object (default/a; /v1, Kind=Pod): .spec.containers[name="c"].ports: '
    'duplicate entries for key [containerPort=80,protocol="TCP"]'
)
PORTS = {"name": "c", "image": "i", "ports": [{"containerPort": 80}, {"containerPort": 80, "name": "b"}]}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
DECODING_JSON = "error unmarshaling JSON: while decoding JSON"

PATCHES: list[tuple[Any, str, int, str | None, str]] = [
    ("", MERGE, 400, "BadRequest", f"error decoding patch: {ENDED}"),
    ("", JSON_PATCH, 400, "BadRequest", f"error decoding patch: {ENDED}"),
    ("", STRATEGIC, 400, "BadRequest", ENDED),
    ("[]", STRATEGIC, 400, "BadRequest", NO_OBJECT.format("array", NO_MAP)),
    (
        "{}",
        JSON_PATCH,
        400,
        "BadRequest",
        f"error decoding patch: {NO_OBJECT.format('object', NO_OPERATIONS)}",
    ),
    (
        "[]",
        APPLY,
        400,
        "BadRequest",
        f"error decoding YAML: {DECODING_JSON}: {NO_OBJECT.format('array', NO_MAP)}",
    ),
    ("", APPLY, 400, "BadRequest", "invalid object type: /, Kind="),
    ({"data": {"$patch": "no"}}, STRATEGIC, 500, None, "unknown patch type: no in map: map[$patch:no]"),
    ({"data": {"$retainKeys": ["a"], "b": "1"}}, STRATEGIC, 422, "Invalid", UNFIT),
    ([{"op": "remove", "path": "/metadata/finalizers/-2"}], JSON_PATCH, 422, "Invalid", UNFIT),
]


@pytest.mark.parametrize(("body", "media_type", "code", "reason", "message"), PATCHES)
async def test_invalid_patch_gets_upstream_error(
    call: Caller, body: Any, media_type: str, code: int, reason: str | None, message: str
) -> None:
    held = {"name": "a", "finalizers": ["example.com/f"]}
    await call("POST", MAPS, config_map(metadata=held, data={"c": "1"}))
    answer = await call("PATCH", f"{MAPS}/a?fieldManager=m", body, Content_Type=media_type)
    status = json.loads(answer.body)
    assert (answer.code, status.get("reason"), status["message"]) == (code, reason, message)


async def test_apply_configuration_names_each_item_once(call: Caller) -> None:
    intent = {**POD, "spec": {"containers": [PORTS]}}
    refused = await call("PATCH", f"{PODS}/a?fieldManager=m", intent, Content_Type=APPLY)
    assert (refused.code, json.loads(refused.body)["message"]) == (500, TWICE)


async def test_json_patch_accepts_negative_indexes(call: Caller) -> None:
    await call("POST", MAPS, config_map(metadata={"name": "a", "finalizers": ["x.y/a", "x.y/b"]}))
    last = [{"op": "remove", "path": "/metadata/finalizers/-1"}]
    answer = await call("PATCH", f"{MAPS}/a", last, Content_Type=JSON_PATCH)
    assert json.loads(answer.body)["metadata"]["finalizers"] == ["x.y/a"]


async def test_unknown_field_of_json_patch_operation_is_warned_or_refused(call: Caller) -> None:
    await call("POST", MAPS, config_map())
    patch = [{"op": "add", "path": "/data", "value": {}, "foo": 1}]
    strange = 'json patch unknown field "[0].foo"'
    warned = await call("PATCH", f"{MAPS}/a", patch, Content_Type=JSON_PATCH)
    assert (warned.code, warned.headers["warning"]) == (200, '299 - "' + strange.replace('"', '\\"') + '"')
    refused = await call("PATCH", f"{MAPS}/a?fieldValidation=Strict", patch, Content_Type=JSON_PATCH)
    assert refused.code == 422
    assert json.loads(refused.body)["message"].endswith(f": strict decoding error: {strange}")


async def test_review_of_unknown_token_reports_invalid_bearer_token(call: Caller) -> None:
    asked = {"spec": {"token": "nobody's"}}
    answer = await call("POST", "/apis/authentication.k8s.io/v1/tokenreviews", asked)
    assert json.loads(answer.body)["status"]["error"] == "invalid bearer token"


@pytest.mark.parametrize(("method", "path", "body", "media_type", "code", "reason", "message"), BODIES)
async def test_invalid_body_gets_upstream_error(
    call: Caller,
    method: str,
    path: str,
    body: Any,
    media_type: str,
    code: int,
    reason: str | None,
    message: str,
) -> None:
    await call("POST", MAPS, config_map())
    answer = await call(method, path, body, Content_Type=media_type)
    status = json.loads(answer.body)
    assert (answer.code, status.get("reason"), status["message"]) == (code, reason, message)


QUERIES = [
    (f"{MAPS}?continue=foo", JSON, 400, f"{NO_TOKEN}: invalid character '~' looking for beginning of value"),
    (f"{MAPS}?continue=a.b", JSON, 400, f"{NO_TOKEN}: illegal base64 data at input byte 1"),
    (f"{MAPS}?continue=e30", JSON, 400, f"{NO_TOKEN}: server does not recognize this encoded version "),
    (MAPS, PARTIAL, 406, A_LIST),
    (f"{MAPS}?watch=1", f"{JSON};as=Chart", 406, f"{ONLY.partition(', ')[0]};stream=watch"),
    (f"{MAPS}/a", PARTIALS, 406, NO_LIST),
]


@pytest.mark.parametrize(("path", "accept", "code", "message"), QUERIES)
async def test_invalid_read_gets_upstream_error(
    call: Caller, path: str, accept: str, code: int, message: str
) -> None:
    await call("POST", MAPS, config_map())
    answer = await call("GET", path, Accept=accept)
    assert (answer.code, json.loads(answer.body)["message"]) == (code, message)


async def test_access_review_has_no_table(call: Caller) -> None:
    question = {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}
    refused = await call("POST", REVIEWS, question, Accept=TABLE)
    assert (refused.code, json.loads(refused.body)["message"]) == (406, ONLY)
    answered = await call("POST", REVIEWS, question, Accept=f"{TABLE},{JSON}")
    assert (answered.code, json.loads(answered.body)["status"]["allowed"]) == (201, True)


async def test_a_patch_that_does_not_fit_has_empty_details(call: Caller) -> None:
    await call("POST", MAPS, config_map())
    wrong = [{"op": "test", "path": "/data/a", "value": "1"}]
    refused = await call("PATCH", f"{MAPS}/a", wrong, Content_Type=JSON_PATCH)
    assert json.loads(refused.body)["details"] == {}


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (f"{DEFAULT}/services/s", "Service"),
        (f"{DEFAULT}/serviceaccounts/s", "ServiceAccount"),
        (f"{MAPS}/s", "Status"),
        ("/api/v1/nodes/s", "Status"),
    ],
)
async def test_deletion_returns_object_or_status_by_kind(call: Caller, path: str, kind: str) -> None:
    body = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    assert (await call("POST", path.removesuffix("/s"), body)).code == 201
    assert json.loads((await call("DELETE", path)).body)["kind"] == kind


async def test_a_deletion_that_waits_is_accepted_where_dependents_go_too(
    call: Caller,
) -> None:
    await call("POST", MAPS, of(finalizers=["example.com/f"]))
    assert (await call("DELETE", f"{MAPS}/b?orphanDependents=false")).code == 202
    assert (await call("DELETE", f"{MAPS}/b?propagationPolicy=Background")).code == 200


async def test_new_events_are_selected_by_their_own_names(call: Caller) -> None:
    about = {"kind": "Pod", "name": "p", "namespace": "default"}
    await call(
        "POST", f"{DEFAULT}/events", {"metadata": {"name": "e"}, "involvedObject": about, "reason": "R"}
    )
    events = "/apis/events.k8s.io/v1/namespaces/default/events"
    found = await call("GET", f"{events}?fieldSelector=regarding.name=p,reportingController=")
    assert [each["metadata"]["name"] for each in json.loads(found.body)["items"]] == ["e"]
    refused = await call("GET", f"{events}?fieldSelector=involvedObject.name=p")
    assert json.loads(refused.body)["message"] == "field label not supported: involvedObject.name"


async def test_groups_are_listed_by_priority(call: Caller) -> None:
    groups = json.loads((await call("GET", "/apis")).body)["groups"]
    assert [each["name"] for each in groups[:3]] == ["apiregistration.k8s.io", "apps", "events.k8s.io"]


BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
NO_REVISION = "metadata.resourceVersion: Invalid value: 0: must be specified for an update"


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        (f"{BUDGETS}/b", {"spec": {"selector": {}, "minAvailable": 1}}, 422),
        ("/apis/node.k8s.io/v1/runtimeclasses/b", {"handler": "h"}, 422),
        ("/apis/storage.k8s.io/v1/csidrivers/b", {"spec": {}}, 422),
        (f"{MAPS}/b", {"data": {"a": "1"}}, 200),
    ],
)
async def test_update_without_resource_version(
    call: Caller, path: str, body: dict[str, Any], code: int
) -> None:
    body = {"metadata": {"name": "b"}, **body}
    await call("POST", path.removesuffix("/b"), body)
    answer = await call("PUT", path, {**body, "metadata": {"name": "b", "labels": {"x": "y"}}})
    assert answer.code == code
    assert (NO_REVISION in answer.body.decode()) == (code == 422)


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        (f"{DEFAULT}/limitranges/b", {}, 201),
        (f"{DEFAULT}/services/b", {"spec": {"ports": [{"port": 80}]}}, 201),
        ("/apis/node.k8s.io/v1/runtimeclasses/b", {"handler": "h"}, 201),
        (f"{MAPS}/b", {}, 404),
    ],
)
async def test_update_of_missing_object(call: Caller, path: str, body: dict[str, Any], code: int) -> None:
    assert (await call("PUT", path, {"metadata": {"name": "b"}, **body})).code == code


async def test_annotations_of_deployments_count(call: Caller) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    await call("POST", DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
    patch: dict[str, Any] = {"metadata": {"labels": {"l": "1"}, "annotations": {"a": "1"}}}
    for part, generation, labels in (("/status", 1, None), ("", 2, {"l": "1"})):
        answer = await call("PATCH", f"{DEPLOYMENTS}/d{part}", patch, Content_Type=MERGE)
        found = json.loads(answer.body)["metadata"]
        assert (found["generation"], found.get("labels"), found["annotations"]["a"]) == (
            generation,
            labels,
            patch["metadata"]["annotations"]["a"],
        )
        patch["metadata"]["annotations"]["a"] = "2"


async def test_a_status_may_be_written_without_metadata(call: Caller) -> None:
    exactly = {"deviceClassName": "d"}
    claim = {
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
    }
    assert (await call("POST", CLAIMS, claim)).code == 201
    patch = {"metadata": {"labels": {"l": "1"}}}
    answer = await call("PATCH", f"{CLAIMS}/c/status", patch, Content_Type=MERGE)
    assert (answer.code, "labels" in json.loads(answer.body)["metadata"]) == (200, False)


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("creationTimestamp", "2001-01-01T00:00:00Z", 200),
        ("generation", 7, 200),
        ("selfLink", "/x", 200),
        ("deletionTimestamp", "2001-01-01T00:00:00Z", 422),
        ("deletionGracePeriodSeconds", 4, 422),
        ("uid", "x", 422),
    ],
)
async def test_update_of_server_owned_metadata_is_ignored_or_refused(
    call: Caller, field: str, value: Any, code: int
) -> None:
    made = json.loads((await call("POST", MAPS, config_map())).body)
    answer = await call("PATCH", f"{MAPS}/a", {"metadata": {field: value}}, Content_Type=MERGE)
    assert answer.code == code
    now = json.loads((await call("GET", f"{MAPS}/a")).body)
    assert now == made


async def test_templates_of_daemons_are_counted(call: Caller) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    body = {
        "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }
    sets, counts = DEPLOYMENTS.replace("deployments", "daemonsets"), []
    counts.append(await call("POST", sets, body))
    counts.append(await call("PUT", f"{sets}/d", body))
    template["spec"] = {"containers": [{"name": "c", "image": "j"}]}
    counts.append(await call("PUT", f"{sets}/d", body))
    told = [json.loads(each.body)["metadata"] for each in counts]
    annotation = "deprecated.daemonset.template.generation"
    assert [(each["annotations"][annotation], each["generation"]) for each in told] == [
        ("1", 1),
        ("1", 1),
        ("2", 2),
    ]

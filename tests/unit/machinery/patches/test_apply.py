"""Server-side apply: stories of several managers that share an object."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from podling.api import apps_v1, core_v1
from podling.machinery.encoding.intake import normalized
from podling.machinery.encoding.plain import copied
from podling.machinery.errors import ApiError
from podling.machinery.patches import last_applied
from podling.machinery.patches.apply import apply, check_intent, track_update, with_nulls
from podling.machinery.patches.managed_entries import Writer
from tests.support.appliers import NOW, applied, containers, deployment, owned, writer


def test_the_first_apply_creates_and_owns_what_it_says() -> None:
    obj = applied(None, deployment(3, **containers({"name": "a", "image": "1"})), "me")
    assert obj["spec"]["replicas"] == 3
    assert obj["metadata"]["managedFields"] == [
        {
            "manager": "me",
            "operation": "Apply",
            "apiVersion": "apps/v1",
            "time": "2020-01-01T00:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:spec": {
                    "f:replicas": {},
                    "f:template": {
                        "f:spec": {
                            "f:containers": {'k:{"name":"a"}': {".": {}, "f:image": {}, "f:name": {}}},
                        }
                    },
                }
            },
        }
    ]


def test_applying_the_same_again_changes_nothing() -> None:
    intent = deployment(3)
    obj = applied(None, intent, "me")
    assert applied(obj, intent, "me", minutes=5) is obj


def test_field_left_out_of_next_apply_is_removed() -> None:
    obj = applied(None, deployment(3, paused=True, selector={"matchLabels": {"a": "1"}}), "me")
    obj = applied(obj, deployment(3), "me")
    assert obj["spec"] == {"replicas": 3}


def test_another_order_is_a_change() -> None:
    obj = applied(None, deployment(**containers({"name": "a"}, {"name": "b"})), "me")
    obj = applied(obj, deployment(**containers({"name": "b"}, {"name": "a"})), "me")
    assert [each["name"] for each in obj["spec"]["template"]["spec"]["containers"]] == ["b", "a"]


def test_manager_that_changes_nothing_has_no_time() -> None:
    obj = applied(applied(None, deployment(3), "me"), deployment(3), "you", minutes=5)
    times = {entry["manager"]: entry.get("time") for entry in obj["metadata"]["managedFields"]}
    assert times == {"me": "2020-01-01T00:00:00Z", "you": None}


def test_field_without_manager_stays() -> None:
    obj = applied(None, deployment(3), "me")
    obj["spec"]["minReadySeconds"] = 7  # a default, say
    assert applied(obj, deployment(4), "me")["spec"] == {"replicas": 4, "minReadySeconds": 7}


def test_an_item_goes_with_all_that_is_in_it() -> None:
    obj = applied(None, deployment(**containers({"name": "a", "image": "1"}, {"name": "b"})), "me")
    obj["spec"]["template"]["spec"]["containers"][1]["imagePullPolicy"] = "Always"
    obj = applied(obj, deployment(**containers({"name": "a", "image": "1"})), "me")
    assert obj["spec"] == containers({"name": "a", "image": "1"})


@pytest.mark.parametrize(
    ("live", "intent", "result"),
    [
        ("ab", "c", "abc"),
        ("ab", "ba", "ba"),
        ("axb", "ab", "axb"),
        ("axb", "ba", "xba"),
        ("ab", "xay", "xaby"),
        ("", "ab", "ab"),
        ("abc", "cxa", "bcxa"),
    ],
)
def test_the_order_of_a_shared_list(live: str, intent: str, result: str) -> None:
    obj = applied(None, deployment(**containers(*({"name": name} for name in live))), "you") if live else None
    obj = applied(obj, deployment(**containers(*({"name": name} for name in intent))), "me")
    assert "".join(each["name"] for each in obj["spec"]["template"]["spec"]["containers"]) == result


def said_null(*, spec: dict[str, Any], **metadata: Any) -> Any:
    """Return an intent as it was sent, normal but for its nulls."""
    sent = {**deployment(), "spec": spec}
    sent["metadata"].update(metadata)
    return with_nulls(sent, normalized(sent, apps_v1.Deployment)[0])


def test_null_is_said_too() -> None:
    obj = applied(None, said_null(spec={"replicas": None, "paused": True}, annotations=None), "me")
    assert obj["spec"] == {"paused": True}
    assert owned(obj) == {"me Apply": [".metadata.annotations", ".spec.paused", ".spec.replicas"]}


def test_null_empties_what_is_one_value_and_keeps_what_has_parts() -> None:
    live = applied(None, deployment(3, selector={"matchLabels": {"a": "1"}}), "you")
    live["metadata"]["annotations"] = {"a": "1"}
    intent = said_null(spec={"replicas": None}, annotations=None)
    with pytest.raises(ApiError, match=r'conflict with "you": .spec.replicas'):
        applied(live, intent, "me")
    obj = applied(live, intent, "me", force=True)
    assert (obj["metadata"]["annotations"], obj["spec"]) == (
        {"a": "1"},
        {"selector": {"matchLabels": {"a": "1"}}},
    )
    assert owned(obj) == {
        "you Apply": [".spec.selector"],
        "me Apply": [".metadata.annotations", ".spec.replicas"],
    }


def test_two_appliers_share_a_list() -> None:
    obj = applied(None, deployment(**containers({"name": "a", "image": "1"})), "me")
    obj = applied(obj, deployment(**containers({"name": "sidecar", "image": "2"})), "you")
    assert [each["name"] for each in obj["spec"]["template"]["spec"]["containers"]] == ["a", "sidecar"]
    obj = applied(obj, deployment(), "you")
    assert obj["spec"] == containers({"name": "a", "image": "1"})


def test_changing_what_another_owns_is_a_conflict() -> None:
    obj = applied(None, deployment(3), "me")
    with pytest.raises(ApiError) as caught:
        applied(obj, deployment(5), "you")
    error = caught.value
    assert (error.code, error.reason) == (409, "Conflict")
    assert str(error) == 'Apply failed with 1 conflict: conflict with "me": .spec.replicas'
    assert error.status.details
    (cause,) = error.status.details.causes
    assert (cause.reason, cause.field_) == ("FieldManagerConflict", ".spec.replicas")


def test_several_conflicts_are_listed_by_owner() -> None:
    obj = applied(None, deployment(3, **containers({"name": "a", "image": "1"})), "me")
    obj = track_update(
        obj, {**copied(obj), "spec": {**obj["spec"], "paused": True}}, apps_v1.Deployment, writer("ui")
    )
    with pytest.raises(ApiError) as caught:
        applied(obj, deployment(5, paused=False, **containers({"name": "a", "image": "2"})), "you")
    assert str(caught.value) == (
        'Apply failed with 3 conflicts: conflicts with "me":\n'
        "- .spec.replicas\n"
        '- .spec.template.spec.containers[name="a"].image\n'
        'conflicts with "ui" using apps/v1:\n'
        "- .spec.paused"
    )


def test_conflicts_list_managers_by_name() -> None:
    live = applied(None, deployment(1), "kubectl")
    live = applied(live, deployment(1), "other")
    live = track_update(live, {**live, "spec": {"replicas": 2}}, apps_v1.Deployment, writer("kubectl-edit"))
    live = applied(applied(live, deployment(2), "other"), deployment(2), "kubectl")
    with pytest.raises(ApiError) as caught:
        applied(live, deployment(3), "me")
    said = str(caught.value).splitlines()
    assert [line for line in said if "conflicts" in line] == [
        'Apply failed with 3 conflicts: conflicts with "kubectl":',
        'conflicts with "kubectl-edit" using apps/v1:',
        'conflicts with "other":',
    ]


def test_force_takes_the_field_over() -> None:
    obj = applied(None, deployment(3, paused=True), "me")
    obj = applied(obj, deployment(5), "you", force=True)
    assert obj["spec"] == {"replicas": 5, "paused": True}
    assert owned(obj) == {"me Apply": [".spec.paused"], "you Apply": [".spec.replicas"]}


def test_agreeing_on_a_value_is_shared_ownership() -> None:
    obj = applied(None, deployment(3), "me")
    obj = applied(obj, deployment(3), "you")
    assert owned(obj) == {"me Apply": [".spec.replicas"], "you Apply": [".spec.replicas"]}
    obj = applied(obj, deployment(), "me")
    assert obj["spec"] == {"replicas": 3}
    assert owned(obj) == {"you Apply": [".spec.replicas"]}


def test_update_takes_ownership_of_changed_fields() -> None:
    obj = applied(None, deployment(3), "me")
    changed = copied(obj)
    changed["spec"]["replicas"] = 9
    changed["metadata"]["labels"] = {"a": "1"}
    obj = track_update(obj, changed, apps_v1.Deployment, writer("kubectl-scale"))
    assert owned(obj) == {
        "kubectl-scale Update": [".metadata.labels", ".metadata.labels.a", ".spec.replicas"],
    }
    with pytest.raises(ApiError, match=r'conflict with "kubectl-scale" using apps/v1: .spec.replicas'):
        applied(obj, deployment(3), "me")


def test_an_update_that_changes_nothing_takes_nothing_and_keeps_its_time() -> None:
    obj = track_update(None, deployment(3), apps_v1.Deployment, writer("me"))
    again = track_update(obj, copied(obj), apps_v1.Deployment, writer("me", 5))
    assert again["metadata"]["managedFields"] == obj["metadata"]["managedFields"]


def test_an_update_has_the_time_at_which_it_last_took_something() -> None:
    obj = track_update(None, deployment(3, paused=True), apps_v1.Deployment, writer("me"))
    (made,) = obj["metadata"]["managedFields"]
    less = copied(obj)
    del less["spec"]["paused"]
    obj = track_update(obj, less, apps_v1.Deployment, writer("me", 5))
    (left,) = obj["metadata"]["managedFields"]
    assert (left["fieldsV1"] != made["fieldsV1"], left["time"]) == (True, made["time"])
    obj = track_update(obj, {**copied(obj), "spec": {"replicas": 4}}, apps_v1.Deployment, writer("me", 9))
    (changed,) = obj["metadata"]["managedFields"]
    assert (changed["fieldsV1"] == left["fieldsV1"], changed["time"] > left["time"]) == (True, True)


def test_an_applier_is_one_in_all_versions() -> None:
    obj = applied(None, deployment(3), "me")
    other = Writer("me", NOW, "apps/v1beta2")
    obj = apply(obj, deployment(4), apps_v1.Deployment, other)
    assert owned(obj) == {"me Apply": [".spec.replicas"]}


def test_the_owner_of_a_removed_field_owns_it_no_more() -> None:
    obj = applied(None, deployment(3, paused=True), "me")
    changed = copied(obj)
    del changed["spec"]["paused"]
    obj = track_update(obj, changed, apps_v1.Deployment, writer("ui"))
    assert owned(obj) == {"me Apply": [".spec.replicas"]}


def test_first_apply_conflicts_with_before_first_apply() -> None:
    live = deployment(3)
    with pytest.raises(ApiError, match=r'conflict with "before-first-apply" using apps/v1: .spec.replicas'):
        applied(live, deployment(5), "me")
    obj = applied(live, deployment(3), "me")
    assert owned(obj)["me Apply"] == [".spec.replicas"]
    assert ".spec.replicas" in owned(obj)["before-first-apply Update"]


def test_before_first_apply_entry_names_subresource() -> None:
    live = {**deployment(3), "status": {"replicas": 3}}
    intent = {**deployment(), "status": {"replicas": 3}}
    through = writer("me", subresource="status", ignored=("spec",))
    obj = apply(live, intent, apps_v1.Deployment, through)
    assert [entry["subresource"] for entry in obj["metadata"]["managedFields"]] == ["status", "status"]
    assert owned(obj)["before-first-apply Update"] == [".status.replicas"]


def from_client_side_apply(replicas: int, *, said: int) -> Any:
    """Return an object that ``kubectl apply`` made, and what the annotation says of its replicas."""
    metadata = {"name": "web", "namespace": "default"}
    config = json.dumps(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"replicas": said}}
    )
    obj = deployment(replicas)
    obj["metadata"]["annotations"] = {last_applied.ANNOTATION: config}
    return track_update(None, obj, apps_v1.Deployment, writer("kubectl-client-side-apply"))


@pytest.mark.parametrize(
    ("who", "said", "conflict"),
    [("kubectl", 3, False), ("kubectl", 2, True), ("somebody", 3, True)],
)
def test_kubectl_is_in_no_conflict_with_its_client_side_apply(who: str, said: int, conflict: bool) -> None:
    live = from_client_side_apply(3, said=said)
    if conflict:
        with pytest.raises(ApiError, match=r'"kubectl-client-side-apply" using apps/v1: .spec.replicas'):
            applied(live, deployment(5), who)
        return
    obj = applied(live, deployment(5), who)
    assert obj["spec"] == {"replicas": 5}
    assert owned(obj)["kubectl Apply"] == [".spec.replicas"]
    assert ".spec.replicas" not in owned(obj)["kubectl-client-side-apply Update"]


def test_the_annotation_of_a_client_side_apply_is_kept_up() -> None:
    live = from_client_side_apply(3, said=3)
    intent = {**deployment(5), "spec": {"paused": True, "replicas": 5}}
    said = last_applied.kept_up(applied(live, intent, "kubectl"), intent)["metadata"]["annotations"]
    assert said[last_applied.ANNOTATION] == (
        '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default"},'
        '"spec":{"paused":true,"replicas":5}}\n'
    )
    bare = deployment(5)
    assert last_applied.kept_up(bare, intent) is bare


def test_subresources_have_entries_of_their_own() -> None:
    obj = applied(None, deployment(3), "me")
    changed = {**copied(obj), "status": {"replicas": 3}}
    obj = track_update(obj, changed, apps_v1.Deployment, writer("me", subresource="status"))
    assert owned(obj) == {"me Apply": [".spec.replicas"], "me Update": [".status", ".status.replicas"]}
    assert obj["metadata"]["managedFields"][1]["subresource"] == "status"


def test_fields_that_a_request_cannot_write_are_left_out() -> None:
    intent = {**deployment(3), "status": {"replicas": 9}}
    obj = apply(None, intent, apps_v1.Deployment, writer("me", ignored=("status",)))
    assert "status" not in obj
    assert owned(obj) == {"me Apply": [".spec.replicas"]}


def test_an_empty_entry_resets_the_ownership() -> None:
    obj = applied(None, deployment(3), "me")
    changed = copied(obj)
    changed["metadata"]["managedFields"] = [{}]
    assert "managedFields" not in track_update(obj, changed, apps_v1.Deployment, writer("me"))["metadata"]


def test_the_oldest_updaters_become_one() -> None:
    obj: Any = None
    for number in range(14):
        new = copied(obj) if obj else deployment(0)
        new["metadata"].setdefault("labels", {})[f"l{number}"] = "x"
        obj = track_update(obj, new, apps_v1.Deployment, writer(f"m{number}", number))
    managers = [entry["manager"] for entry in obj["metadata"]["managedFields"]]
    assert len(managers) == 10
    assert managers[0] == "ancient-changes"
    assert managers[-1] == "m13"
    labels = {field for fields in owned(obj).values() for field in fields if ".labels.l" in field}
    assert len(labels) == 14


def test_each_version_has_updaters_of_its_own_that_become_one() -> None:
    """The first of a version waits for a second one: alone it would be no entry less."""
    obj: Any = None
    for number in range(11):
        new = copied(obj) if obj else deployment(0)
        new["metadata"].setdefault("labels", {})[f"l{number}"] = "x"
        version = "apps/v1beta1" if number == 0 else "apps/v1"
        who = Writer(f"m{number}", NOW + timedelta(minutes=number), version)
        obj = track_update(obj, new, apps_v1.Deployment, who)
    managers = [entry["manager"] for entry in obj["metadata"]["managedFields"]]
    assert managers == ["m0", "ancient-changes", *(f"m{number}" for number in range(3, 11))]


def test_sets_maps_and_atomic_values() -> None:
    intent = {
        "metadata": {"name": "x", "finalizers": ["a.b/c"], "labels": {"k": "v"}},
        "spec": {
            "nodeSelector": {"disk": "ssd"},
            "containers": [{"name": "a", "args": ["x"], "ports": [{"containerPort": 80}]}],
        },
    }
    obj = apply(None, intent, core_v1.Pod, Writer("me", NOW, "v1"))
    assert owned(obj)["me Apply"] == sorted(
        [
            ".metadata.labels.k",
            '.metadata.finalizers[="a.b/c"]',
            ".spec.nodeSelector",
            '.spec.containers[name="a"]',
            '.spec.containers[name="a"].name',
            '.spec.containers[name="a"].args',
            '.spec.containers[name="a"].ports[containerPort=80,protocol="TCP"]',
            '.spec.containers[name="a"].ports[containerPort=80,protocol="TCP"].containerPort',
        ]
    )


def test_a_default_in_a_key_is_the_same_item() -> None:
    live = apply(None, pod_with_port({"containerPort": 80}), core_v1.Pod, Writer("me", NOW, "v1"))
    live["spec"]["containers"][0]["ports"][0]["protocol"] = "TCP"
    port = {"containerPort": 80, "protocol": "TCP", "name": "http"}
    obj = apply(live, pod_with_port(port), core_v1.Pod, Writer("me", NOW, "v1"))
    assert obj["spec"]["containers"][0]["ports"] == [port]


def pod_with_port(port: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "a", "ports": [port]}]}}


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"foo": 1}, ".spec.foo: field not declared in schema"),
        (
            {"containers": [{"image": "1"}]},
            ".spec.containers: element 0: associative list with keys has an element that omits all key "
            'fields ["name"] (and doesn\'t have default values for any key fields)',
        ),
    ],
)
def test_intent_that_does_not_fit_schema_is_refused(spec: dict[str, Any], text: str) -> None:
    intent = {"metadata": {"name": "x", "namespace": "default"}, "spec": spec}
    with pytest.raises(ApiError) as caught:
        check_intent(intent, core_v1.Pod, Writer("me", NOW, "v1"))
    assert caught.value.code == 500
    assert str(caught.value) == f"failed to create typed patch object (default/x; /v1, Kind=Pod): {text}"


def test_an_intent_carries_no_ownership() -> None:
    intent = deployment(3)
    intent["metadata"]["managedFields"] = [{"manager": "x"}]
    with pytest.raises(ApiError, match=r"metadata.managedFields must be nil"):
        check_intent(intent, apps_v1.Deployment, writer("me"))


def test_two_items_with_one_key_survive_the_apply_of_others() -> None:
    twice = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    live = deployment(**containers({"name": "a", "env": twice}))
    live = track_update(None, live, apps_v1.Deployment, writer("ui"))
    obj = applied(live, deployment(**containers({"name": "a", "env": [{"name": "B"}]})), "me")
    (container,) = obj["spec"]["template"]["spec"]["containers"]
    assert container["env"] == [*twice, {"name": "B"}]


def test_normal_intents_are_canonical_but_say_no_more_than_was_said() -> None:
    resources = {"limits": {"cpu": "0.5"}}
    intent = {"spec": {"containers": [{"name": "a", "resources": resources, "env": None}]}}
    assert normalized(intent, core_v1.Pod) == (
        {"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": "500m"}}}]}},
        [],
    )

"""Conversion of a client's data to an object: accepted, changed, warned of and refused fields."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from podling.api import apiextensions_v1, apps_v1, coordination_v1, core_v1, node_v1, resource_v1
from podling.machinery.encoding.codec import convert, encode, read_body
from podling.machinery.errors import ApiError
from podling.machinery.patches.patch import patched_object


def pod(spec: dict[str, Any] | None = None, **rest: Any) -> dict[str, Any]:
    return {"metadata": {"name": "web"}, "spec": spec or {}, **rest}


def container(**fields: Any) -> dict[str, Any]:
    return {"containers": [{"name": "a", **fields}]}


def refused(plain: Any, type_: type[Any] = core_v1.Pod, how: str = "Warn") -> str:
    with pytest.raises(ApiError) as caught:
        convert(plain, type_, how)
    assert caught.value.code == 400
    prefix = f'{type_.__name__} in version "v1" cannot be handled as a {type_.__name__}: '
    return str(caught.value).removeprefix(prefix)


UNKNOWN = pod({"foo": 1, "containers": [{"name": "a", "bar": {}}, {"ports": [{"Name": "x"}]}]}, extra=None)
UNKNOWN_TEXTS = [
    'unknown field "spec.foo"',
    'unknown field "spec.containers[0].bar"',
    'unknown field "spec.containers[1].ports[0].Name"',
    'unknown field "extra"',
]


def test_ignore_drops_unknown_fields_in_silence() -> None:
    obj, warnings = convert(UNKNOWN, core_v1.Pod, "Ignore")
    assert warnings == []
    assert len(obj.spec.containers) == 2


def test_warn_names_every_unknown_field() -> None:
    obj, warnings = convert(UNKNOWN, core_v1.Pod, "Warn")
    assert warnings == UNKNOWN_TEXTS
    assert obj.metadata.name == "web"


def test_strict_refuses_unknown_fields() -> None:
    assert refused(UNKNOWN, how="Strict") == "strict decoding error: " + ", ".join(UNKNOWN_TEXTS)


UNKNOWN_A, UNKNOWN_B = 'unknown field "spec.a"', 'unknown field "spec.b"'
TWICE = 'duplicate field "spec.nodeName"'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"spec":{"nodeName":"x","nodeName":"y","a":1}}', [TWICE, UNKNOWN_A]),
        ('{"spec":{"a":1,"nodeName":"x","nodeName":"y","b":1}}', [UNKNOWN_A, TWICE, UNKNOWN_B]),
        ('{"spec":{"a":1,"a":2,"b":{"c":1,"c":2}}}', [UNKNOWN_A, UNKNOWN_B]),
        ('{"spec":{"a.b":1,"nodeName":"x","nodeName":"y"}}', ['unknown field "spec.a.b"', TWICE]),
        (
            '{"spec":{"nodeSelector":{"a":"1","a":"2"}},"metadata":{"b":1}}',
            ['duplicate field "spec.nodeSelector.a"', 'unknown field "metadata.b"'],
        ),
    ],
)
def test_strict_refuses_repeated_and_unknown_fields_as_it_meets_them(text: str, told: list[str]) -> None:
    body = read_body(text.encode())
    assert convert(body, core_v1.Pod, "Ignore")[1] == []
    assert convert(body, core_v1.Pod)[1] == told
    assert refused(body, how="Strict") == f"strict decoding error: {', '.join(told)}"


def test_keys_that_yaml_repeats_come_first_and_are_one_error_or_several_warnings() -> None:
    lines = 'line 2: key "a" already set in map', 'line 4: key "b" already set in map'
    body = read_body(b'x: {"a": 1,\n "a": 2}\nz: {"b": 1,\n "b": 2}\n', "application/yaml")
    unknown = ['unknown field "x"', 'unknown field "z"']
    assert convert(body, core_v1.Pod)[1] == [*lines, *unknown]
    text = "yaml: unmarshal errors:\n  " + "\n  ".join(lines)
    assert refused(body, how="Strict") == f"strict decoding error: {text}, {', '.join(unknown)}"


def test_json_that_is_sent_as_yaml_repeats_keys_like_yaml() -> None:
    body = read_body(b'{"x": 1, "x": 2}', "application/yaml")
    assert body.duplicates == ('yaml: unmarshal errors:\n  line 1: key "x" already set in map',)


def test_of_a_strategic_merge_patch_what_is_inside_comes_first() -> None:
    result = {"a": 1, "spec": {"b": 1, "containers": [{"c": 1}, {"d": 1}]}, "metadata": {"e": 1}}
    _, told = patched_object(result, core_v1.Pod, "Warn", strategic=result)
    paths = ["spec.containers[0].c", "spec.containers[1].d", "spec.b", "metadata.e", "a"]
    assert told == [f'unknown field "{path}"' for path in paths]


def test_names_of_fields_are_case_sensitive() -> None:
    assert convert({"Spec": {}}, core_v1.Pod)[1] == ['unknown field "Spec"']


WRONG_TYPES = [
    (pod({"containers": "x"}), "string into Go struct field PodSpec.spec.containers of type []v1.Container"),
    (pod({"containers": {}}), "object into Go struct field PodSpec.spec.containers of type []v1.Container"),
    (pod({"containers": ["x"]}), "string into Go struct field PodSpec.spec.containers of type v1.Container"),
    (pod(container(name=1)), "number into Go struct field Container.spec.containers.name of type string"),
    (pod(container(tty="yes")), "string into Go struct field Container.spec.containers.tty of type bool"),
    (
        pod(container(ports=[{"containerPort": "80"}])),
        "string into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32",
    ),
    (
        pod(container(ports=[{"containerPort": 2**31}])),
        "number 2147483648 into Go struct field ContainerPort.spec.containers.ports.containerPort "
        "of type int32",
    ),
    (
        pod({"activeDeadlineSeconds": 1.5}),
        "number 1.5 into Go struct field PodSpec.spec.activeDeadlineSeconds of type int64",
    ),
    (pod({"nodeSelector": {"a": 1}}), "number into Go struct field PodSpec.spec.nodeSelector of type string"),
    ({"spec": "x"}, "string into Go struct field Pod.spec of type v1.PodSpec"),
    ({"metadata": []}, "array into Go struct field Pod.metadata of type v1.ObjectMeta"),
    (
        {"metadata": {"labels": {"a": True}}},
        "bool into Go struct field ObjectMeta.metadata.labels of type string",
    ),
    ([], "array into Go value of type v1.Pod"),
]


@pytest.mark.parametrize(("plain", "text"), WRONG_TYPES)
def test_wrong_types_are_refused_in_gos_words(plain: Any, text: str) -> None:
    assert refused(plain) == f"json: cannot unmarshal {text}"


def test_values_that_read_themselves_have_their_own_words() -> None:
    quantity = pod(container(resources={"limits": {"cpu": "x"}}))
    assert refused(quantity).startswith("quantities must match the regular expression")
    probe = pod(container(livenessProbe={"httpGet": {"port": 1.5}}))
    assert refused(probe) == "json: cannot unmarshal number 1.5 into Go value of type int32"
    moment = {"metadata": {"creationTimestamp": "yesterday"}}
    assert refused(moment) == (
        'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"'
    )
    assert refused({"metadata": {"creationTimestamp": 1}}) == (
        "json: cannot unmarshal number into Go value of type string"
    )
    assert refused({"data": {"a": "%%"}}, core_v1.Secret) == "illegal base64 data at input byte 0"


def test_quantities_become_canonical_and_may_be_numbers() -> None:
    limits = {"cpu": 0.5, "memory": "1024Mi", "pods": 3}
    obj, _ = convert(pod(container(resources={"limits": limits})), core_v1.Pod)
    assert obj.spec.containers[0].resources.limits == {"cpu": "500m", "memory": "1Gi", "pods": "3"}


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("100u", "1m"), (0.0001, "1m"), ("1500000n", "2m"), ("1.0005", "1001m"), ("-1n", "-1m"),
        ("0.0001Ki", "103m"), ("1e-5", "1e-3"), ("1Gi", "1Gi"), ("0", "0"),
    ],
)  # fmt: skip
def test_a_resource_list_has_thousandths_at_most(said: str | float, kept: str) -> None:
    obj, _ = convert(pod(container(resources={"limits": {"cpu": said}})), core_v1.Pod)
    assert obj.spec.containers[0].resources.limits == {"cpu": kept}
    overhead, _ = convert({"overhead": {"podFixed": {"cpu": said}}}, node_v1.RuntimeClass)
    assert overhead.overhead is not None
    assert overhead.overhead.pod_fixed == {"cpu": kept}


def test_other_quantities_are_as_fine_as_they_are() -> None:
    volume = {"name": "v", "emptyDir": {"sizeLimit": "100u"}}
    obj, _ = convert(pod({"volumes": [volume]}), core_v1.Pod)
    assert obj.spec.volumes[0].empty_dir is not None
    assert obj.spec.volumes[0].empty_dir.size_limit == "100u"
    request = {"name": "r", "exactly": {"deviceClassName": "c", "capacity": {"requests": {"a": "100u"}}}}
    claim, _ = convert({"spec": {"devices": {"requests": [request]}}}, resource_v1.ResourceClaim)
    (kept,) = json.loads(encode(claim))["spec"]["devices"]["requests"]
    assert kept["exactly"]["capacity"]["requests"] == {"a": "100u"}


@pytest.mark.parametrize("text", ["2020-01-01T10:00:00Z", "2020-01-01T11:00:00.9+01:00"])
def test_times_are_cut_to_whole_seconds_in_utc(text: str) -> None:
    obj, _ = convert({"metadata": {"creationTimestamp": text}}, core_v1.Pod)
    assert obj.metadata.creation_timestamp == datetime(2020, 1, 1, 10, tzinfo=UTC)


def test_micro_times_always_have_six_digits() -> None:
    moment = "2020-01-01T00:00:00.000000Z"
    lease, _ = convert({"spec": {"renewTime": moment}}, coordination_v1.Lease)
    assert json.loads(encode(lease))["spec"]["renewTime"] == moment
    assert refused({"spec": {"renewTime": "2020-01-01T00:00:00Z"}}, coordination_v1.Lease) == (
        'parsing time "2020-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": '
        'cannot parse "Z" as ".000000"'
    )


def test_micro_times_inside_of_others_have_them_too() -> None:
    event, _ = convert(
        {"series": {"count": 2, "lastObservedTime": "2020-01-01T00:00:00.000000Z"}}, core_v1.Event
    )
    assert json.loads(encode(event))["series"]["lastObservedTime"] == "2020-01-01T00:00:00.000000Z"
    events = core_v1.EventList(items=(event,))
    assert json.loads(encode(events))["items"][0]["series"]["lastObservedTime"].endswith(".000000Z")


def test_null_means_absent_where_go_drops_it_and_zero_inside_of_lists_and_maps() -> None:
    plain = {
        "metadata": {"name": None, "labels": {"a": None}, "annotations": None, "finalizers": [None, "x"]},
        "spec": {"containers": [None], "volumes": None, "overhead": {"cpu": None}},
        "status": None,
    }
    obj, warnings = convert(plain, core_v1.Pod, "Strict")
    assert warnings == []
    assert obj.metadata.name == ""
    assert obj.metadata.labels == {"a": ""}
    assert obj.metadata.finalizers == ("", "x")
    assert obj.spec.containers == (core_v1.Container(),)
    assert obj.spec.overhead == {"cpu": "0"}
    assert obj.spec.volumes == ()


def test_conversion_leaves_input_unchanged() -> None:
    plain = pod(container(resources={"limits": {"cpu": 0.5}}, env=None), status=None)
    before = json.dumps(plain)
    convert(plain, core_v1.Pod)
    assert json.dumps(plain) == before


def test_free_form_fields_are_kept_as_they_are() -> None:
    schema = {
        "type": "object",
        "default": {"a": [None, 1.0, {"B": None}]},
        "properties": {"x": {"default": 5}},
    }
    crd = {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}}
    obj, warnings = convert(crd, apiextensions_v1.CustomResourceDefinition, "Strict")
    assert warnings == []
    assert json.loads(encode(obj))["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == schema


def test_kind_and_version_may_be_missing() -> None:
    obj, _ = convert({}, apps_v1.Deployment)
    assert (obj.api_version, obj.kind) == ("apps/v1", "Deployment")


@pytest.mark.parametrize(
    ("kind", "version", "text"),
    [
        (
            "Deployment",
            "apps/v1",
            'Deployment in version "v1" cannot be handled as a Pod: '
            "converting (v1.Deployment) to (core.Pod): unknown conversion",
        ),
        (
            "Pod",
            "v2",
            'Pod in version "v2" cannot be handled as a Pod: '
            'no kind "Pod" is registered for version "v2" in scheme "pkg/api/legacyscheme/scheme.go:30"',
        ),
    ],
)
def test_another_kind_is_refused(kind: str, version: str, text: str) -> None:
    assert refused({"kind": kind, "apiVersion": version}) == text


def test_another_version_of_the_same_kind_is_refused() -> None:
    from podling.api import autoscaling_v2

    plain = {"kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v1"}
    assert refused(plain, autoscaling_v2.HorizontalPodAutoscaler) == (
        "the API version in the data (autoscaling/v1) "
        "does not match the expected API version (autoscaling/v2)"
    )


def test_at_most_a_hundred_errors_are_reported() -> None:
    _, warnings = convert({f"x{n}": 1 for n in range(500)}, core_v1.Pod)
    assert len(warnings) == 100

"""Zeros, empty lists and nulls: objects are decoded and encoded as Go's types have it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podling.api import (
    apps_v1,
    autoscaling_v2,
    core_v1,
    discovery_v1,
    meta_v1,
    networking_v1,
    rbac_v1,
    storage_v1,
)
from podling.api._zero import NIL_LIST
from podling.machinery.encoding.codec import convert, decode, encode, from_plain, to_plain
from podling.machinery.encoding.intake import object_meta
from podling.machinery.encoding.shapes import Kind, Shape, fields_of
from tests.support.manifests import valid_objects

ZEROS: list[tuple[type[Any], dict[str, Any], dict[str, Any]]] = [
    (
        core_v1.PodSpec,
        {
            "hostNetwork": False, "hostname": "", "nodeName": "", "volumes": [], "nodeSelector": {},
            "enableServiceLinks": False, "terminationGracePeriodSeconds": 0, "containers": [],
        },
        {"enableServiceLinks": False, "terminationGracePeriodSeconds": 0, "containers": []},
    ),
    (
        core_v1.Container,
        {
            "name": "", "image": "", "tty": False, "stdin": False, "workingDir": "", "args": [],
            "env": [{"name": "A", "value": ""}, {"name": "", "value": "b"}],
            "ports": [{"containerPort": 0, "hostPort": 0, "hostIP": "", "name": ""}],
            "volumeMounts": [{"name": "v", "mountPath": "", "readOnly": False, "subPath": ""}],
            "securityContext": {"privileged": False, "capabilities": {"add": []}},
        },
        {
            "name": "", "env": [{"name": "A"}, {"name": "", "value": "b"}], "ports": [{"containerPort": 0}],
            "volumeMounts": [{"name": "v", "mountPath": ""}], "resources": {},
            "securityContext": {"privileged": False, "capabilities": {}},
        },
    ),
    (apps_v1.DeploymentSpec, {"paused": False, "minReadySeconds": 0, "replicas": 0}, {"replicas": 0}),
    (core_v1.NodeSpec, {"unschedulable": False, "podCIDR": ""}, {}),
    (core_v1.PodCondition, {"type": "Ready"}, {
        "type": "Ready", "status": "", "lastProbeTime": None, "lastTransitionTime": None,
    }),
    (core_v1.PodCondition, {"lastTransitionTime": "0001-01-01T00:00:00Z"}, {
        "type": "", "status": "", "lastProbeTime": None, "lastTransitionTime": None,
    }),
    (apps_v1.StatefulSetStatus, {"readyReplicas": 0}, {"replicas": 0, "availableReplicas": 0}),
    (apps_v1.DeploymentStatus, {"replicas": 0}, {}),
    (core_v1.ResourceFieldSelector, {"resource": "limits.cpu"}, {"resource": "limits.cpu", "divisor": "0"}),
    (core_v1.TypedLocalObjectReference, {"kind": "PersistentVolumeClaim", "name": "a"}, {
        "apiGroup": None, "kind": "PersistentVolumeClaim", "name": "a",
    }),
    (core_v1.LimitRangeSpec, {"limits": []}, {"limits": None}),
    (core_v1.ProjectedVolumeSource, {"sources": None}, {"sources": None}),
    (storage_v1.CSINodeSpec, {}, {"drivers": None}),
    (autoscaling_v2.HorizontalPodAutoscalerStatus, {}, {"desiredReplicas": 0, "currentMetrics": None}),
    (core_v1.ServiceStatus, {}, {"loadBalancer": {}}),
    (networking_v1.IngressStatus, {"loadBalancer": {"ingress": []}}, {"loadBalancer": {}}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("type_", "given_", "answered"), ZEROS, ids=lambda each: getattr(each, "__name__", "")
)
def test_zeros_held_by_value_are_dropped_and_others_written(
    type_: type[Any], given_: dict[str, Any], answered: dict[str, Any]
) -> None:
    obj, warnings = convert(given_, type_, "Strict")
    written = to_plain(obj)
    shown = {name: item for name, item in written.items() if name in answered or name in given_}
    assert (shown, warnings) == (answered, [])
    assert to_plain(from_plain(written, type_)) == written
    assert decode(encode(obj), type_) == obj


def test_whole_objects_show_what_go_always_writes() -> None:
    assert to_plain(rbac_v1.Role()) == {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {}, "rules": None,
    }  # fmt: skip
    deployment = to_plain(apps_v1.Deployment())
    assert deployment["spec"]["strategy"] == {}
    assert deployment["spec"]["template"]["metadata"] == {}
    assert deployment["status"] == {}
    event = to_plain(core_v1.Event())
    assert {name for name, value in event.items() if value is None} == {
        "eventTime", "firstTimestamp", "lastTimestamp",
    }  # fmt: skip
    assert (event["reportingComponent"], event["reportingInstance"], event["source"]) == ("", "", {})


def test_empty_list_that_is_null_behaves_like_an_empty_tuple() -> None:
    slice_ = convert({"addressType": "IPv4", "endpoints": None, "ports": []}, discovery_v1.EndpointSlice)[0]
    assert slice_.endpoints is NIL_LIST
    assert (list(slice_.endpoints), len(slice_.ports), bool(slice_.ports)) == ([], 0, False)
    assert slice_.endpoints == ()
    assert hash(slice_.endpoints) == hash(())
    assert (1, *slice_.endpoints) == (1,) + slice_.endpoints == slice_.endpoints + (1,)  # noqa: RUF005
    with pytest.raises(IndexError):
        _ = slice_.endpoints[0]
    assert slice_ == discovery_v1.EndpointSlice(address_type="IPv4", endpoints=(), ports=())
    assert b'"endpoints":null' in encode(slice_)
    assert b'"endpoints":null' in encode(discovery_v1.EndpointSliceList(items=(slice_,)))


@pytest.mark.parametrize("document", valid_objects(), ids=lambda each: f"{each['apiVersion']}-{each['kind']}")
def test_reading_what_was_written_changes_nothing(document: dict[str, Any]) -> None:
    from podling.machinery.scheme import split_group_version, type_of

    kind = type_of(*split_group_version(document["apiVersion"]), document["kind"])
    obj, warnings = convert(document, kind, "Strict")
    assert warnings == []
    written = encode(obj)
    assert encode(convert(json.loads(written), kind, "Strict")[0]) == written
    assert encode(decode(written, kind)) == written


def values(shape: Shape, depth: int) -> st.SearchStrategy[Any]:
    """Plain values of a shape, most of them zeros; null wherever it may stand."""
    match shape.kind:
        case Kind.STRUCT if shape.struct is not None and depth > 0:
            return st.none() | objects(shape.struct, depth - 1)
        case Kind.STRUCT:
            return st.just({})
        case Kind.LIST if shape.element is not None:
            return st.none() | st.lists(values(shape.element, depth - 1), max_size=2)
        case Kind.MAP if shape.element is not None:
            return st.none() | st.dictionaries(
                st.sampled_from("ab"), values(shape.element, depth - 1), max_size=2
            )
        case Kind.BOOLEAN:
            return st.booleans() | st.none()
        case Kind.INTEGER:
            return st.sampled_from((0, 1, None))
        case Kind.NUMBER:
            return st.sampled_from((0.0, 1.5, None))
        case Kind.INT_OR_STRING:
            return st.sampled_from((0, "", "50%"))
        case Kind.QUANTITY:
            return st.sampled_from(("0", "500m", 1))
        case Kind.BYTES:
            return st.sampled_from(("", "AAEC"))
        case Kind.TIME:
            zero = "0001-01-01T00:00:00" + (".000000Z" if shape.micro else "Z")
            return st.sampled_from((None, zero, zero.replace("0001", "2026")))
        case Kind.STRING:
            return st.sampled_from(("", "x", None))
    return st.none()


def objects(struct: type[Any], depth: int) -> st.SearchStrategy[dict[str, Any]]:
    shapes = {name: shape for name, shape in fields_of(struct).items() if name not in ("apiVersion", "kind")}
    named = st.lists(st.sampled_from(sorted(shapes)), unique=True, max_size=6)
    return named.flatmap(
        lambda names: st.fixed_dictionaries({name: values(shapes[name], depth) for name in names})
    )


KINDS: tuple[type[Any], ...] = (
    core_v1.Pod, core_v1.Node, core_v1.Service, core_v1.Event, core_v1.LimitRange, apps_v1.Deployment,
    apps_v1.StatefulSet, rbac_v1.ClusterRole, discovery_v1.EndpointSlice, storage_v1.CSINode,
    autoscaling_v2.HorizontalPodAutoscaler, networking_v1.Ingress,
)  # fmt: skip


@settings(max_examples=60)
@given(st.data())
def test_encoding_what_was_decoded_is_idempotent(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(KINDS))
    obj, _ = convert(data.draw(objects(kind, 4)), kind)
    written = encode(obj)
    again = encode(convert(json.loads(written), kind, "Strict")[0])
    assert again == written
    assert encode(decode(written, kind)) == written
    assert not set(zeros_in(json.loads(written), kind))


def zeros_in(plain: Any, struct: type[Any]) -> Any:
    """Return the fields that are written though Go's types omit them."""
    defaults = {each.encode_name: each.default for each in msgspec.structs.fields(struct)}
    for name, shape in fields_of(struct).items():
        value = plain.get(name)
        if name in plain and not value and value == defaults[name] and type(value) is type(defaults[name]):
            yield f"{struct.__name__}.{name}"
        inner = shape if shape.kind is Kind.STRUCT else shape.element
        if inner is not None and inner.struct is not None and value:
            for each in (
                [value] if shape.kind is Kind.STRUCT else value.values() if shape.kind is Kind.MAP else value
            ):
                yield from zeros_in(each, inner.struct)


def test_nulls_in_the_metadata_of_custom_objects_are_absent() -> None:
    """Conversion webhooks and other servers write null for what is absent."""
    given_ = {"name": "a", "namespace": None, "labels": {"x": None}, "ownerReferences": None, "generation": 0}
    assert object_meta(given_) == meta_v1.ObjectMeta(name="a", labels={"x": ""})
    with pytest.raises(msgspec.ValidationError):
        object_meta({"name": 1})
    with pytest.raises(msgspec.ValidationError):
        object_meta({"generation": "1"})
    with pytest.raises(msgspec.ValidationError):
        object_meta([])

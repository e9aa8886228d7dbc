"""Shapes: every type can be read, and the marks arrive where the machinery looks for them."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import msgspec

import podling.api
from podling.api import apiextensions_v1, coordination_v1, core_v1, meta_v1
from podling.machinery.encoding.shapes import Kind, Shape, fields_of, shape_of


def all_structs() -> list[type[Any]]:
    found: list[type[Any]] = []
    for module in pkgutil.iter_modules(podling.api.__path__):
        if "_v" in module.name:
            names = vars(importlib.import_module(f"podling.api.{module.name}")).values()
            found += [each for each in names if isinstance(each, type) and issubclass(each, msgspec.Struct)]
    return [each for each in found if each is not msgspec.Struct]


def test_every_field_of_every_type_has_a_shape() -> None:
    counted = sum(len(fields_of(struct)) for struct in all_structs())
    assert counted > 3000


def field(struct: type[Any], name: str) -> Shape:
    return fields_of(struct)[name]


def test_kinds_of_fields() -> None:
    limits = field(core_v1.ResourceRequirements, "limits")
    assert limits.kind is Kind.MAP
    assert limits.element
    assert limits.element.kind is Kind.QUANTITY
    assert field(core_v1.ContainerPort, "containerPort").int32
    assert not field(core_v1.PodSpec, "activeDeadlineSeconds").int32
    assert field(core_v1.HTTPGetAction, "port").kind is Kind.INT_OR_STRING
    assert not field(meta_v1.ObjectMeta, "creationTimestamp").micro
    assert field(coordination_v1.LeaseSpec, "renewTime").micro
    assert field(apiextensions_v1.JSONSchemaProps, "default").kind is Kind.ANY
    data = field(core_v1.Secret, "data").element
    assert data
    assert data.kind is Kind.BYTES


def test_shape_states_merge_keys_of_lists() -> None:
    ports = field(core_v1.Container, "ports")
    assert (ports.merge_key, ports.map_keys) == ("containerPort", ("containerPort", "protocol"))
    finalizers = field(meta_v1.ObjectMeta, "finalizers")
    assert (finalizers.merge_key, finalizers.is_set) == ("", True)
    assert field(core_v1.Container, "args").merge_key is None
    assert field(core_v1.PodSpec, "volumes").retain_keys


def test_shape_states_atomic_types() -> None:
    assert shape_of(core_v1.SecretKeySelector).atomic
    assert field(core_v1.PodSpec, "nodeSelector").atomic
    assert not field(meta_v1.ObjectMeta, "labels").atomic
    assert shape_of(core_v1.ObjectReference).atomic
    assert not field(core_v1.PersistentVolumeSpec, "claimRef").atomic


def test_names_in_go() -> None:
    assert field(core_v1.PodSpec, "containers").go_type() == "[]v1.Container"
    assert field(core_v1.ResourceRequirements, "limits").go_type() == "map[string]resource.Quantity"

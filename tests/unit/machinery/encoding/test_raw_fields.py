"""``fieldsV1``: typed objects hold its JSON, plain data the tree."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.apps_v1 import Deployment
from podling.api.coordination_v1 import Lease
from podling.api.core_v1 import ConfigMap
from podling.machinery.encoding import codec
from podling.machinery.encoding.raw_fields import raw_json
from podling.machinery.errors import ApiError

TREE: dict[str, Any] = {"f:data": {".": {}, "f:a": {}, "f:b": {}}}


def config_map(tree: Any = TREE) -> dict[str, Any]:
    entry = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    metadata = {"name": "x", "managedFields": [{**entry, "fieldsV1": tree}]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


@pytest.mark.parametrize("read", [codec.from_plain, lambda plain, kind: codec.convert(plain, kind)[0]])
def test_typed_object_holds_the_json(read: Any) -> None:
    obj = read(config_map(), ConfigMap)
    (entry,) = obj.metadata.managed_fields
    assert bytes(entry.fields_v1) == b'{"f:data":{".":{},"f:a":{},"f:b":{}}}'
    assert codec.to_plain(obj) == config_map()
    assert codec.decode(codec.encode(obj), ConfigMap) == obj


def test_decoding_makes_nothing_of_the_tree() -> None:
    data = codec.encode(codec.from_plain(config_map(), ConfigMap))
    assert isinstance(codec.decode(data, ConfigMap).metadata.managed_fields[0].fields_v1, msgspec.Raw)


def test_equal_trees_are_equal_in_any_order_of_keys() -> None:
    turned = {"f:data": dict(reversed(TREE["f:data"].items()))}
    assert codec.convert(config_map(turned), ConfigMap) == codec.convert(config_map(), ConfigMap)
    assert raw_json(turned) == raw_json(TREE)


def test_absent_and_null_trees_are_left_out() -> None:
    for tree in (None, "absent"):
        plain = config_map(tree)
        if tree == "absent":
            del plain["metadata"]["managedFields"][0]["fieldsV1"]
        assert b"fieldsV1" not in codec.encode(codec.convert(plain, ConfigMap)[0])


def test_tree_must_be_an_object() -> None:
    with pytest.raises(ApiError, match="cannot unmarshal string into Go struct field"):
        codec.convert(config_map("text"), ConfigMap)


def test_metadata_inside_of_an_object_has_trees_too() -> None:
    template = {"metadata": config_map()["metadata"], "spec": {"containers": []}}
    plain = {"spec": {"selector": {}, "template": template}}
    obj = codec.from_plain(plain, Deployment)
    assert codec.to_plain(obj)["spec"]["template"]["metadata"] == template["metadata"]


def test_object_with_micro_times_is_written_with_its_tree() -> None:
    plain = {"metadata": config_map()["metadata"], "spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}}
    assert codec.to_plain(codec.from_plain(plain, Lease)) == {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        **plain,
    }

"""The generated types: up to date, complete, frozen, and absent where nothing was said."""

from __future__ import annotations

import importlib
from pathlib import Path

import msgspec
import pytest

from podling.api import core_v1, meta_v1
from podling.machinery.encoding.codec import to_plain
from tools import gen_api


def test_generated_files_match_schema() -> None:
    stale = [name for name, text in gen_api.build().items() if (gen_api.TARGET / name).read_text() != text]
    assert stale == [], "run tools/gen_api.py"


def test_nothing_else_is_there() -> None:
    written = set(gen_api.build())
    by_hand = {"__init__.py", "_zero.py", "markers.py"}
    assert {path.name for path in Path(gen_api.TARGET).iterdir() if path.is_file()} == written | by_hand


def test_every_definition_of_the_schema_is_a_type() -> None:
    for definition, schema in gen_api.load_schema().items():
        if definition in gen_api.SCALARS:
            continue
        module = importlib.import_module(f"podling.api.{gen_api.module_of(definition)}")
        struct = getattr(module, definition.rpartition(".")[2])
        names = {field.encode_name for field in msgspec.structs.fields(struct)}
        assert names == set(schema.get("properties") or ()), definition


@pytest.mark.parametrize(
    ("json_name", "python_name"),
    [
        ("nodeName", "node_name"),
        ("podIPs", "pod_ips"),
        ("hostIP", "host_ip"),
        ("clusterIPs", "cluster_ips"),
        ("continue", "continue_"),
        ("$ref", "ref"),
        ("x-kubernetes-list-type", "x_kubernetes_list_type"),
        ("serverAddressByClientCIDRs", "server_address_by_client_cidrs"),
    ],
)
def test_names_in_python(json_name: str, python_name: str) -> None:
    assert gen_api.snake(json_name) == python_name


def test_objects_are_frozen_values() -> None:
    pod = core_v1.Pod(metadata=meta_v1.ObjectMeta(name="a"))
    assert pod == core_v1.Pod(metadata=meta_v1.ObjectMeta(name="a"))
    with pytest.raises(AttributeError):
        pod.kind = "Other"  # type: ignore[misc]


def test_two_objects_share_no_maps() -> None:
    first, second = meta_v1.ObjectMeta(), meta_v1.ObjectMeta()
    assert first.labels is not second.labels


def test_absent_is_zero_by_value_and_none_behind_pointers() -> None:
    spec = core_v1.PodSpec()
    assert spec.host_network is False
    assert spec.hostname == ""
    assert spec.termination_grace_period_seconds is None
    assert spec.volumes == ()


def test_empty_structs_write_what_go_writes() -> None:
    """A field is there without ``omitempty``, and if Go holds a struct by value and does not omit its zero.

    Structs behind required pointers are there, too: validation refuses objects without them.
    """
    checked = 0
    for module, structs in gen_api.load_go_types().items():
        for name, facts in structs.items():
            struct = getattr(importlib.import_module(f"podling.api.{module}"), name)
            written = {
                field
                for field, (kind, *options) in ((field, fact.split(",")) for field, fact in facts.items())
                if "e" not in options or (kind == "struct" and "z" not in options)
            }
            told = {"apiVersion", "kind"} if hasattr(struct, "group_version_kind") else set()
            found = to_plain(struct()).keys()
            required = {
                field for field in getattr(struct, "required_fields", ()) if facts[field] == "pointer,e"
            }
            assert found - required == (written | told) - required, name
            checked += 1
    assert checked > 700


def test_lists_that_are_never_null_are_lists_without_omitempty() -> None:
    facts = {name: held for structs in gen_api.load_go_types().values() for name, held in structs.items()}
    for struct, fields in gen_api.NEVER_NULL.items():
        assert [facts[struct][field] for field in fields] == ["slice"] * len(fields), struct


def test_types_holding_micro_times_are_found_at_any_depth() -> None:
    micro = gen_api.holding(f"{gen_api.META}.MicroTime", gen_api.load_schema())
    assert "io.k8s.api.coordination.v1.LeaseList" in micro
    assert "io.k8s.api.core.v1.Pod" not in micro

"""Go structs and protobuf messages are read as Go's compilers would read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import go_source
from tools.gen_go_types import word

TYPES = """
package v1

import (
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type Mode string
type Limits map[Mode]int64
type Alias = v1.Inner

// Thing has a field of every kind. type Hidden struct {
type Thing struct {
	metav1.TypeMeta `json:",inline"`
	/* metadata */
	metav1.Meta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Inline `json:",inline" protobuf:"bytes,9,opt,name=inline"`
	Flag bool `json:"flag,omitempty" protobuf:"varint,2,opt,name=flag"`
	Count *int32 `json:"count" protobuf:"varint,3,opt,name=count"`
	Mode Mode `json:"mode" protobuf:"bytes,4,opt,name=mode,casttype=Mode"`
	Limits Limits `json:"limits,omitempty" protobuf:"bytes,5,rep,name=limits"`
	Items []v1.Inner `json:"items" protobuf:"bytes,6,rep,name=items"`
	Since metav1.Meta `json:"since,omitempty,omitzero" protobuf:"bytes,7,opt,name=since"`
	Other Alias `json:"other" protobuf:"bytes,8,opt,name=other"`
	Secret string `json:"-"`
}

type Inline struct {
	Deep string `json:"deep,omitempty"`
}
"""
PROTO = """
package k8s.io.api.things.v1;

// Thing { optional string hidden = 99; }
message Thing {
  optional .k8s.io.apimachinery.pkg.apis.meta.v1.Meta metadata = 1;
  map<string, int64> limits = 5;
  repeated Inline items = 6;
}

message Inline {
}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files = {
        "api/things/v1/types.go": TYPES,
        "api/things/v1/types_test.go": "type Thing struct {\n}\n",
        "api/things/v1/generated.proto": PROTO,
        "api/core/v1/types.go": "type Inner struct {\n}\n",
        "apimachinery/pkg/apis/meta/v1/types.go": "type Meta struct{}\n\ntype TypeMeta struct {\n}\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_fields_state_go_type_and_omission(root: Path) -> None:
    package = go_source.package(root, "k8s.io/api/things/v1")
    assert {field.name: word(field) for field in package.flat_fields("Thing")} == {
        "metadata": "struct,e",
        "deep": "string,e",
        "flag": "bool,e",
        "count": "pointer",
        "mode": "string",
        "limits": "map,e",
        "items": "slice",
        "since": "struct,e,z",
        "other": "struct",
    }
    assert [field.number for field in package.fields("Thing")] == [None, 1, 9, 2, 3, 4, 5, 6, 7, 8]


def test_messages_state_numbers_and_full_names(root: Path) -> None:
    found = go_source.messages(root, "k8s.io/api/things/v1")
    assert found["k8s.io.api.things.v1.Inline"] == []
    assert [
        (field.number, field.name, field.type, field.repeated, field.key)
        for field in found["k8s.io.api.things.v1.Thing"]
    ] == [
        (1, "metadata", "k8s.io.apimachinery.pkg.apis.meta.v1.Meta", False, ""),
        (5, "limits", "int64", False, "string"),
        (6, "items", "k8s.io.api.things.v1.Inline", True, ""),
    ]


def test_unknown_type_is_an_error(root: Path) -> None:
    with pytest.raises(LookupError, match="has no type Nothing"):
        go_source.package(root, "k8s.io/api/things/v1").kind("Nothing")

"""JSON paths of printer columns."""

from __future__ import annotations

from typing import Any

import pytest

from podling.apiserver.customresources.json_paths import JsonPath, JsonPathError

DATA: dict[str, Any] = {
    "spec": {"a": 1, "list": [{"n": "x", "v": 1}, {"n": "y", "v": 2}], "dotted.key": "d"},
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.a", [1]),
        ("{.spec.a}", [1]),
        (".spec.nothing", []),
        (".spec.list[0].n", ["x"]),
        (".spec.list[-1].n", ["y"]),
        (".spec.list[7].n", []),
        (".spec.list[*].v", [1, 2]),
        (".spec.list[0:1].v", [1]),
        (".spec['dotted.key']", ["d"]),
        (r".spec.dotted\.key", ["d"]),
        ("..n", ["x", "y"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type!='Ready')].status", ["False"]),
        (".spec.list[?(@.v==2)].n", ["y"]),
    ],
)
def test_path_finds_its_values(path: str, found: list[Any]) -> None:
    assert JsonPath(path).find(DATA) == found


@pytest.mark.parametrize("path", [".a[", ".a[?(]", ".a]"])
def test_malformed_path_is_an_error(path: str) -> None:
    with pytest.raises(JsonPathError):
        JsonPath(path)

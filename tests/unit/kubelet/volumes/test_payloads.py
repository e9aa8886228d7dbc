"""Files of ConfigMap and Secret volumes, as tables."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import ConfigMap, KeyToPath
from podling.kubelet.failures import MissingReference
from podling.kubelet.volumes.payloads import config_map_data, select

DATA = {"a": b"1", "b": b"2"}


@pytest.mark.parametrize(
    ("items", "mode", "expected"),
    [
        ([], None, {"a": (b"1", 0o644), "b": (b"2", 0o644)}),
        ([], 0o400, {"a": (b"1", 0o400), "b": (b"2", 0o400)}),
        ([{"key": "b", "path": "deep/c"}], None, {"deep/c": (b"2", 0o644)}),
        ([{"key": "a", "path": "a", "mode": 0o600}], 0o400, {"a": (b"1", 0o600)}),
    ],
)
def test_items_select_keys_paths_and_modes(
    items: list[dict[str, Any]], mode: int | None, expected: dict[str, tuple[bytes, int]]
) -> None:
    chosen = msgspec.convert(items, list[KeyToPath])
    found = select(DATA, chosen, mode, optional=False, missing="missing")
    assert {path: (file.data, file.mode) for path, file in found.items()} == expected


def test_missing_key_is_an_error_unless_optional() -> None:
    items = [KeyToPath(key="c", path="c"), KeyToPath(key="a", path="a")]
    with pytest.raises(MissingReference, match="references non-existent key: c"):
        select(DATA, items, None, optional=False, missing="references non-existent key")
    assert list(select(DATA, items, None, optional=True, missing="")) == ["a"]


def test_config_map_holds_text_and_binary_data() -> None:
    found = config_map_data(ConfigMap(data={"text": "ä"}, binary_data={"bytes": "AP8="}))
    assert found == {"text": "ä".encode(), "bytes": b"\x00\xff"}

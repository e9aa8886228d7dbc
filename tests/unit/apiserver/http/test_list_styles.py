"""Media types of lists in chunks: chunks are equal to the whole list."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import yaml

from podling.apiserver.http.list_styles import styled

HEAD: dict[str, Any] = {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}}
ITEMS = [
    {"metadata": {"name": f"a{number}"}, "data": {"x": '],[{"items":[', "y": "b\n"}} for number in range(5)
]


def pieces(name: str) -> list[bytes]:
    """Return a list in three pieces, as ``representations.Renderer`` makes them."""
    head = msgspec.json.encode({**HEAD, name: []}).removesuffix(b"]}")
    first, second, *others = (msgspec.json.encode(each) for each in ITEMS)
    return [head + first, b"," + second, b"," + b",".join(others) + b"]}"]


@pytest.mark.parametrize("name", ["items", "rows"])
def test_pieces_make_the_whole_list(name: str) -> None:
    whole = {**HEAD, name: ITEMS}
    indented = b"".join(styled(iter(pieces(name)), "application/json"))
    assert indented == msgspec.json.format(msgspec.json.encode(whole), indent=2)
    text = b"".join(styled(iter(pieces(name)), "application/yaml"))
    assert text == msgspec.yaml.encode(whole, order="sorted")
    assert yaml.safe_load(text) == whole


def test_two_pieces_are_enough() -> None:
    first, second, third = pieces("items")
    text = b"".join(styled(iter([first, second + third]), "application/json"))
    assert msgspec.json.decode(text) == {**HEAD, "items": ITEMS}

"""Bodies of many values are refused before they are read; many braces in texts are no values."""

from __future__ import annotations

import json

import pytest

from podling.machinery.encoding.bodies import JSON, YAML, read_body
from podling.machinery.encoding.body_limits import VALUES_MAX, VALUES_OF_DEFINITIONS_MAX
from podling.machinery.encoding.protobuf import read_protobuf
from podling.machinery.errors import ApiError

SEVERAL_CHUNKS = 300_000


def is_refused(data: bytes, media_type: str = JSON) -> bool:
    try:
        read_body(data, media_type)
    except ApiError as error:
        return (error.code, error.reason) == (413, "RequestEntityTooLarge")
    return False


@pytest.mark.parametrize("value", [b"{}", b"[]", b"1", b'""', b'{"a":"{["}', b'"\\\\"', b'"\\""'])
@pytest.mark.parametrize("media_type", [JSON, YAML])
def test_many_values_are_refused(value: bytes, media_type: str) -> None:
    values = 2 if b":" in value else 1
    assert is_refused(b"[" + b",".join([value] * (VALUES_MAX + 1)) + b"]", media_type)
    assert not is_refused(b"[" + b",".join([value] * (VALUES_MAX // values // 3)) + b"]", media_type)


@pytest.mark.parametrize(
    "text",
    ["{[,", '{"a":[{}]},', "\\{", '\\"{', '"', "\\", '\\\\"{,'],
    ids=["braces", "json", "backslash", "both", "quote", "backslashes", "all"],
)
def test_braces_in_texts_are_not_counted(text: str) -> None:
    for times in (SEVERAL_CHUNKS, SEVERAL_CHUNKS - 1, SEVERAL_CHUNKS - 2):
        assert not is_refused(json.dumps({"a": text * (times // len(text)), "b": [1, 2]}).encode())


def test_text_that_never_ends_is_malformed_and_quickly_found() -> None:
    with pytest.raises(ApiError) as refused:
        read_body(b'{"a":"' + b'\\"{' * SEVERAL_CHUNKS)
    assert refused.value.code == 400


@pytest.mark.parametrize("media_type", [JSON, YAML])
def test_definitions_may_have_more_values(media_type: str) -> None:
    data = b"[" + b",".join([b"1"] * (2 * VALUES_MAX)) + b"]"
    assert len(read_body(data, media_type, values_max=VALUES_OF_DEFINITIONS_MAX).value) == 2 * VALUES_MAX


def test_many_values_in_protobuf_are_refused() -> None:
    def field(number: int, data: bytes) -> bytes:
        size, length = len(data), b""
        while size > 127:
            length, size = length + bytes([size & 127 | 128]), size >> 7
        return bytes([number << 3 | 2]) + length + bytes([size]) + data

    def pod(containers: int) -> bytes:
        head = field(1, field(1, b"v1") + field(2, b"Pod"))
        return b"k8s\0" + head + field(2, field(2, field(2, b"") * containers))

    assert len(read_protobuf(pod(1000)).value["spec"]["containers"]) == 1000
    with pytest.raises(ApiError) as refused:
        read_protobuf(pod(VALUES_MAX + 1))
    assert refused.value.code == 413

"""Bodies of writes in every media type."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import DeleteOptions
from podling.machinery.encoding.request_bodies import read_any, read_object, read_options
from podling.machinery.errors import ApiError

JSON_BODY = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"},"other":1}'
YAML_BODY = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\nother: 1\n"


@pytest.mark.parametrize(
    ("content_type", "data"), [("application/json", JSON_BODY), ("application/yaml", YAML_BODY)]
)
def test_object_is_read_with_warnings_about_unknown_fields(content_type: str, data: bytes) -> None:
    made, warnings = read_object(data, content_type, ConfigMap, "Warn")
    assert (made.metadata.name, made.data) == ("a", {"k": "v"})
    assert warnings == ['unknown field "other"']


def test_other_media_types_are_refused() -> None:
    with pytest.raises(ApiError) as error:
        read_any(b"{}", "text/plain")
    assert error.value.code == 415
    assert "application/vnd.kubernetes.protobuf" in str(error.value)


def test_options_of_another_kind_are_refused() -> None:
    assert (
        read_options(b'{"gracePeriodSeconds":5}', "application/json", DeleteOptions).grace_period_seconds == 5
    )
    with pytest.raises(ApiError, match="cannot be converted to DeleteOptions"):
        read_options(b'{"kind":"Pod"}', "application/json", DeleteOptions)

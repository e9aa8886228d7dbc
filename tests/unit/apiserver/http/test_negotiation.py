"""Content negotiation by ``Accept`` headers, and the format of warnings."""

from __future__ import annotations

import pytest

from podling.apiserver.http.negotiation import (
    JSON,
    YAML,
    Form,
    Wanted,
    media_type_of,
    negotiate,
    warning_headers,
)
from podling.machinery.errors import ApiError

KUBECTL_GET = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,"
    "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("", Wanted()),
        ("*/*", Wanted()),
        ("application/json", Wanted()),
        ("application/yaml", Wanted(media_type=YAML)),
        ("text/html, application/yaml;q=0.9", Wanted(media_type=YAML)),
        (KUBECTL_GET, Wanted(Form.TABLE)),
        (
            "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
            Wanted(Form.TABLE, version="v1beta1"),
        ),
        ("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", Wanted(Form.METADATA)),
        ("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", Wanted(Form.METADATA_LIST)),
        (
            "application/yaml;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1",
            Wanted(Form.METADATA_LIST, YAML, "v1beta1"),
        ),
        ("application/json;as=Table;v=v2;g=meta.k8s.io,application/json", Wanted()),
        ("application/vnd.kubernetes.protobuf,application/json", Wanted()),
        ("application/json;q=0.1,application/yaml;q=0.5", Wanted(media_type=YAML)),
        ("*/*,application/yaml", Wanted(media_type=YAML)),
        ("application/yaml;q=much,application/json", Wanted()),
        (f"application/json;g=meta.k8s.io;v=v1,{YAML}", Wanted(media_type=YAML)),  # of no kind
    ],
)
def test_preferred_acceptable_media_type_is_chosen(accept: str, wanted: Wanted) -> None:
    assert negotiate(accept) == wanted


@pytest.mark.parametrize("accept", ["text/html", "application/json;as=Chart;v=v1;g=meta.k8s.io"])
def test_unacceptable_media_types_are_refused(accept: str) -> None:
    with pytest.raises(ApiError) as error:
        negotiate(accept)
    assert error.value.code == 406
    assert str(error.value) == f"only the following media types are accepted: {JSON}, {YAML}"


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [("", JSON), ("*/*", JSON), (YAML, YAML), (f"{JSON};as=Table;v=v1;g=meta.k8s.io,{YAML}", YAML)],
)
def test_media_type_of_a_response_with_one_form(accept: str, wanted: str) -> None:
    assert media_type_of(accept) == wanted


def test_response_with_one_form_is_no_table() -> None:
    with pytest.raises(ApiError, match="only the following media types are accepted"):
        media_type_of(f"{JSON};as=Table;v=v1;g=meta.k8s.io")


def test_warnings_are_quoted_once_and_bounded() -> None:
    assert warning_headers(['unknown field "spec.x"', 'unknown field "spec.x"']) == [
        '299 - "unknown field \\"spec.x\\""'
    ]
    assert warning_headers(["one\nline"]) == ['299 - "oneline"']
    many = warning_headers([f"{number}" + "x" * 3000 for number in range(30)])
    assert {len(each) for each in many} == {256 + len('299 - ""')}
    assert len(many) == 4096 // 256

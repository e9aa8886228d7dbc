"""Statuses as bytes: order of keys and escapes are those of Kubernetes, which clients compare."""

from __future__ import annotations

import json

import pytest

from podling.api.meta_v1 import ListMeta, Status, StatusCause, StatusDetails
from podling.machinery import errors
from podling.machinery.encoding import codec
from podling.machinery.encoding.status_json import status_json
from podling.machinery.errors import ApiError
from podling.machinery.fields import FieldError, Path, required

MISSING: list[FieldError] = [required(Path("spec").child("a"), "say <a> & b")]

AS_IN_KUBERNETES = [
    (
        errors.already_exists("apiservices", "apiregistration.k8s.io", "v1alpha1.wardle.k8s.io"),
        '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
        '"message":"apiservices.apiregistration.k8s.io \\"v1alpha1.wardle.k8s.io\\" already exists",'
        '"reason":"AlreadyExists","details":{"name":"v1alpha1.wardle.k8s.io",'
        '"group":"apiregistration.k8s.io","kind":"apiservices"},"code":409}',
    ),
    (
        errors.unauthorized(),
        '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized",'
        '"reason":"Unauthorized","code":401}',
    ),
    (
        errors.no_such_resource(),
        '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
        '"message":"the server could not find the requested resource","reason":"NotFound",'
        '"details":{},"code":404}',
    ),
    (
        errors.invalid("Pod", "", "web", MISSING),
        '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
        '"message":"Pod \\"web\\" is invalid: spec.a: Required value: say \\u003ca\\u003e \\u0026 b",'
        '"reason":"Invalid","details":{"name":"web","kind":"Pod","causes":[{"reason":"FieldValueRequired",'
        '"message":"Required value: say \\u003ca\\u003e \\u0026 b","field":"spec.a"}]},"code":422}',
    ),
    (
        errors.bad_request("a\u2028b\u2029c"),
        '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
        '"message":"a\\u2028b\\u2029c","reason":"BadRequest","code":400}',
    ),
]


@pytest.mark.parametrize(("error", "written"), AS_IN_KUBERNETES)
def test_status_json_has_order_and_escapes_of_go(error: ApiError, written: str) -> None:
    assert status_json(error.status).decode() == written
    assert codec.decode(written.encode(), Status) == codec.decode(codec.encode(error.status), Status)


def test_status_json_names_details_and_list_metadata_in_order_of_go() -> None:
    status = Status(
        status="Success",
        metadata=ListMeta(resource_version="7", continue_="x", remaining_item_count=0),
        details=StatusDetails(
            uid="u", name="n", group="g", kind="k", causes=(StatusCause(message="m"),), retry_after_seconds=1
        ),
    )
    assert status_json(status).decode() == (
        '{"kind":"Status","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"x",'
        '"remainingItemCount":0},"status":"Success","details":{"name":"n","group":"g","kind":"k","uid":"u",'
        '"causes":[{"message":"m"}],"retryAfterSeconds":1}}'
    )


def test_untyped_status_json_begins_with_its_metadata() -> None:
    written = status_json(Status(status="Success"), typed=False)
    assert written == b'{"metadata":{},"status":"Success"}'
    assert json.loads(written) == {"metadata": {}, "status": "Success"}

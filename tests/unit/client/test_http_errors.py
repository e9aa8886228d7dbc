"""Errors from HTTP responses: with a Status, and without one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podling.client.http_errors import error_of

STATUS: dict[str, Any] = {
    "kind": "Status",
    "apiVersion": "v1",
    "status": "Failure",
    "reason": "AlreadyExists",
    "message": 'pods "a" already exists',
    "code": 409,
}


def test_status_of_the_server_is_kept() -> None:
    error = error_of(409, json.dumps(STATUS).encode(), {"Retry-After": "3"})
    assert (error.code, error.reason, str(error)) == (409, "AlreadyExists", 'pods "a" already exists')


def test_status_without_a_code_takes_that_of_the_response() -> None:
    assert error_of(418, json.dumps({**STATUS, "code": 0}).encode(), {}).code == 418


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        json.dumps({**STATUS, "status": "Success"}).encode(),
        json.dumps({**STATUS, "kind": "Pod"}).encode(),
        json.dumps({**STATUS, "code": "409"}).encode(),
    ],
)
def test_other_body_is_replaced_by_the_message_of_client_go(body: bytes) -> None:
    error = error_of(404, body, {})
    assert (error.code, error.reason) == (404, "NotFound")
    assert str(error) == "the server could not find the requested resource"


@pytest.mark.parametrize(
    ("code", "reason", "message"),
    [
        (401, "Unauthorized", "the server has asked for the client to provide credentials"),
        (418, "", "the server responded with the status code 418"),
        (500, "InternalError", "the server responded with the status code 500"),
        (502, "InternalError", "the server responded with the status code 502"),
        (503, "ServiceUnavailable", "the server is currently unable to handle the request"),
    ],
)
def test_code_alone_decides_reason_and_message(code: int, reason: str, message: str) -> None:
    error = error_of(code, b"", {})
    assert (error.code, error.reason, str(error)) == (code, reason, message)


@pytest.mark.parametrize(("after", "seconds"), [("7", 7), ("", None), ("soon", None), ("-1", None)])
def test_retry_after_becomes_a_detail(after: str, seconds: int | None) -> None:
    details = error_of(429, b"", {"Retry-After": after}).status.details
    assert (details.retry_after_seconds if details else None) == seconds

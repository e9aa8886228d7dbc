"""Normalised answers of recorded requests: what is generated leaves a gap, all else stays byte for byte."""

from __future__ import annotations

import base64
import gzip
import json
from datetime import UTC, datetime

import pytest

from tools.recorded_requests.normalisation import normalised
from tools.recorded_requests.protobuf_text import text_of
from tools.recorded_requests.recording import About, Entry

ABOUT = About("abc", datetime(2026, 1, 1, 12, tzinfo=UTC), ["127.0.0.1:4567"])
UID = "0a1b2c3d-1111-4222-8333-444455556666"
OTHER_UID = "9a1b2c3d-1111-4222-8333-444455556666"
OBJECT = {
    "metadata": {
        "name": "web",
        "uid": UID,
        "resourceVersion": "41",
        "creationTimestamp": "2026-01-01T12:00:01Z",
    }
}


def entry(body: bytes | str, *, target: str = "/x", **headers: str) -> Entry:
    data = body.encode() if isinstance(body, str) else body
    return Entry("a: b", "GET", target, status=200, reason="OK", headers=tuple(headers.items()), body=data)


def text(body: bytes | str, **headers: str) -> str:
    return normalised(entry(body, **headers), ABOUT).text


def test_generated_values_of_an_object_become_gaps() -> None:
    found = normalised(entry(json.dumps(OBJECT)), ABOUT)
    assert found.values == [("uid", UID), ("revision", "41")]
    assert '"uid": "<uid>", "resourceVersion": "<revision>", "creationTimestamp": "<time>"' in found.text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"resourceVersion":"1"}', '{"resourceVersion":"22"}'),
        ('{"time":"2026-01-01T12:00:00Z"}', '{"time":"2026-01-02T13:00:00Z"}'),
        ('{"time":"2026-01-01T12:00:00.000001Z"}', '{"time":"2026-01-02T13:00:00.100000Z"}'),
        ('{"cells":["web","5s"]}', '{"cells":["web","2m3s"]}'),
        ('{"clusterIP":"10.96.14.2"}', '{"clusterIP":"10.96.200.31"}'),
        ('{"nodePort":30123}', '{"nodePort":32123}'),
        ('{"name":"generated-abcde"}', '{"name":"generated-fghij"}'),
        ('{"kid":"kN5-Zq0oVhT_1xqkN5-Zq0oVhT_1xqkN5-Zq0oVh"}', '{"kid":"' + "A" * 40 + '"}'),
        ('{"crv":"P-256","x":"' + "x" * 43 + '"}', '{"crv":"P-256","x":"' + "z" * 43 + '"}'),
        ("/openapi/v3/api/v1?hash=" + "0A" * 32, "/openapi/v3/api/v1?hash=" + "1B" * 32),
        ("token eyJhbGciOi.abc.def", "token eyJhbGciOi.xyz.uvw"),
    ],
)
def test_differences_of_time_and_chance_are_not_compared(one: str, other: str) -> None:
    assert text(one) == text(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"time":"2020-01-01T12:00:00Z"}', '{"time":"2020-01-02T13:00:00Z"}'),
        ('{"time":"2026-01-01T12:00:00Z"}', '{"time":"2026-01-01T12:00:00.000000Z"}'),
        ('{"clusterIP":"10.96.0.7"}', '{"clusterIP":"10.96.0.8"}'),
        ('{"nodePort":30080}', '{"nodePort":30123}'),
        ('{"name":"web-abcde"}', '{"name":"web-fghij"}'),
        ('{"a": 1}', '{"a":1}'),
        ('{"a":1,"b":2}', '{"b":2,"a":1}'),
    ],
)
def test_other_differences_stay(one: str, other: str) -> None:
    assert text(one) != text(other)


def test_headers_keep_their_order_and_case() -> None:
    assert text("", A="1", B="2") != text("", B="2", A="1")
    assert text("", Date="now") == text("", Date="later")
    assert text("", Date="now") != text("", date="now")


def test_content_length_counts_only_when_it_is_wrong() -> None:
    assert text("abcd", **{"Content-Length": "4"}).replace("abcd", "abc") == text(
        "abc", **{"Content-Length": "3"}
    )
    assert "Content-Length: <length>" in text("abc", **{"Content-Length": "3"})
    assert "Content-Length: 4" in text("abc", **{"Content-Length": "4"})


def test_length_of_metrics_is_not_compared() -> None:
    headers = (("Content-Length", "7"),), (("Content-Length", "8"),)
    metrics, version = (
        [normalised(Entry("a: b", "HEAD", path, status=200, headers=each), ABOUT).text for each in headers]
        for path in ("/metrics", "/version")
    )
    assert metrics[0] == metrics[1]
    assert version[0] != version[1]


def test_address_of_the_server_is_generated() -> None:
    assert "https://<generated>/x" in text("https://127.0.0.1:4567/x")


def test_continue_token_is_compared_by_its_content() -> None:
    def answer(revision: int, start: str) -> str:
        token = json.dumps({"v": "meta.k8s.io/v1", "rv": revision, "start": start}, separators=(",", ":"))
        return text(base64.urlsafe_b64encode(token.encode()))

    assert answer(7, "a") == answer(1234, "a")
    assert answer(7, "a") != answer(7, "b")


def test_compressed_body_is_compared_by_its_content() -> None:
    compressed = gzip.compress(b"hello", mtime=1), gzip.compress(b"hello", mtime=2)
    one, other = (text(each, **{"Content-Encoding": "gzip"}) for each in compressed)
    assert one == other
    assert "hello" in one


def test_metrics_are_compared_by_their_names() -> None:
    one, other = (
        normalised(entry(f'# HELP a b\na{{x="{n}"}} {n}\nb 1\n', target="/metrics"), ABOUT) for n in (1, 2)
    )
    assert one == other
    assert one.text.endswith("\na\nb")


def field(number: int, value: bytes | int) -> bytes:
    """Encode a field whose number and length fit into seven bits."""
    if isinstance(value, int):
        digits = []
        while value > 0x7F:
            digits.append(value & 0x7F | 0x80)
            value >>= 7
        return bytes([number << 3, *digits, value])
    return bytes([number << 3 | 2, len(value)]) + value


def message(uid: str, revision: str, seconds: int) -> bytes:
    metadata = field(1, b"web") + field(5, uid.encode()) + field(6, revision.encode())
    return b"k8s\0" + field(2, metadata + field(8, field(1, seconds) + field(2, 0)) + b"\x12\x00")


def test_protobuf_is_shown_field_by_field() -> None:
    lines = text_of(message(UID, "41", 1767268800)).splitlines()
    assert [line.strip() for line in lines[:4]] == ["2: {", '1: "web"', f'5: "{UID}"', '6: "41"']


def test_protobuf_differs_by_generated_values_only() -> None:
    media_type = {"Content-Type": "application/vnd.kubernetes.protobuf"}
    assert text(message(UID, "41", 1767268801), **media_type) == text(
        message(OTHER_UID, "7", 1767268899), **media_type
    )
    assert text(message(UID, "41", 1577836800), **media_type) != text(
        message(UID, "41", 1577836801), **media_type
    )


def test_protobuf_watch_is_a_sequence_of_frames() -> None:
    frame = message(UID, "41", 1767268800)
    assert text_of(len(frame).to_bytes(4, "big") + frame).startswith("frame\n  2: {")
    with pytest.raises(ValueError, match="cut off"):
        text_of(len(frame).to_bytes(4, "big") + frame[:-1])

"""Bodies of requests as JSON: conversion to plain data; malformed or hostile bodies are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from podling.machinery.encoding.bodies import Body, read_body
from podling.machinery.errors import ApiError

YAML = "application/yaml"


def refused(data: bytes, media_type: str = "application/json", kind: str = "") -> str:
    with pytest.raises(ApiError) as caught:
        read_body(data, media_type, kind)
    assert caught.value.code == 400
    assert caught.value.reason == "BadRequest"
    return str(caught.value)


GO_COMPLAINTS = {
    "": "unexpected end of JSON input",
    '{"a":': "unexpected end of JSON input",
    '"abc': "unexpected end of JSON input",
    "x": "invalid character 'x' looking for beginning of value",
    "{a:1}": "invalid character 'a' looking for beginning of object key string",
    '{"a":1,}': "invalid character '}' looking for beginning of object key string",
    '{"a" 1}': "invalid character '1' after object key",
    '{"a":1 "b"}': "invalid character '\"' after object key:value pair",
    "[1 2]": "invalid character '2' after array element",
    "[1,]": "invalid character ']' looking for beginning of value",
    "{}}": "invalid character '}' after top-level value",
    "nulx": "invalid character 'x' in literal null (expecting 'l')",
    "-a": "invalid character 'a' in numeric literal",
    "1.x": "invalid character 'x' after decimal point in numeric literal",
    "1ex": "invalid character 'x' in exponent of numeric literal",
    '"a\nb"': r"invalid character '\n' in string literal",
    r'"\x"': "invalid character 'x' in string escape code",
    r'"\u12g4"': r"invalid character 'g' in \u hexadecimal character escape",
    "[NaN]": "invalid character 'N' looking for beginning of value",
}


@pytest.mark.parametrize(("text", "complaint"), GO_COMPLAINTS.items())
def test_malformed_json_is_refused_in_gos_words(text: str, complaint: str) -> None:
    assert refused(text.encode()) == f"couldn't get version/kind; json parse error: {complaint}"


def test_the_refusal_shows_how_the_body_begins() -> None:
    start = (
        "the object provided is unrecognized (must be of type Pod): "
        "couldn't get version/kind; json parse error: "
    )
    end = "unexpected end of JSON input"
    assert refused(b"", kind="Pod") == f"{start}{end} (<empty>)"
    assert refused(b'{"kind":"Pod"', kind="Pod") == f'{start}{end} ({{"kind":"Pod")'
    assert refused(b"[" * 40, kind="Pod") == f"{start}{end} ({'5b' * 30} ...)"


def test_half_a_character_is_replaced_as_go_does() -> None:
    assert read_body(rb'{"a":["\ud800","\ude00x"],"\ud83d\ude00":"\uD83D\uDE00"}').value == {
        "a": ["\ufffd", "\ufffdx"],
        "\U0001f600": "\U0001f600",
    }


def test_bytes_that_are_no_text_are_replaced_too() -> None:
    assert read_body(b'{"a":"\xff"}').value == {"a": "\ufffd"}


def test_an_object_must_be_an_object_but_a_patch_may_be_a_list() -> None:
    assert "json: cannot unmarshal array into Go value of type struct" in refused(b"[1]", kind="Pod")
    assert read_body(b"[1]", "application/json-patch+json") == Body([1])


def test_a_key_that_comes_twice_is_found_with_its_path() -> None:
    body = read_body(b'{"a":[{"b":1},{"b":1,"c":{"d":2,"d":3},"b":4}],"a":5,"a":6}')
    assert body.value == {"a": 6}
    assert body.duplicates == (
        'duplicate field "a[1].c.d"',
        'duplicate field "a[1].b"',
        'duplicate field "a"',
    )


def test_the_same_key_in_two_objects_is_no_duplicate() -> None:
    assert read_body(b'[{"a":1},{"a":1}]').duplicates == ()


@pytest.mark.parametrize("opener", [b"[", b'{"a":', b'[{"a":'])
def test_deep_nesting_is_refused_not_survived_by_luck(opener: bytes) -> None:
    closers = {b"[": b"]", b'{"a":': b"}", b'[{"a":': b"}]"}
    for depth in (600, 20_000):
        data = opener * depth + b"1" + closers[opener] * depth
        assert refused(data).endswith("exceeded max depth")
        assert "max depth" in refused(data, YAML)


def test_a_large_flat_body_is_not_deep() -> None:
    data = json.dumps([{"a": [n]} for n in range(2000)]).encode()
    assert len(read_body(data).value) == 2000


def test_unknown_media_types_are_refused() -> None:
    with pytest.raises(ApiError) as caught:
        read_body(b"{}", "text/plain")
    assert caught.value.code == 415
    assert str(caught.value) == (
        "the body of the request was in an unknown format - "
        "accepted media types include: application/json, application/yaml"
    )


@pytest.mark.parametrize(
    "media_type", ["", "application/json", "application/json; charset=utf-8", "Application/JSON"]
)
def test_media_types_are_read_leniently(media_type: str) -> None:
    assert read_body(b'{"a":1}', media_type).value == {"a": 1}


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def indented(value: Any) -> str:
    return json.dumps(value, indent="\t", ensure_ascii=False)


@given(plain, st.sampled_from([json.dumps, compact, indented, lambda value: compact(value) + "\n"]))
@example({"a b": 1, "ab": " "}, indented)
def test_json_is_read_as_it_was_written(value: Any, write: Callable[[Any], str]) -> None:
    found = read_body(write(value).encode(errors="replace")).value
    assert repr(found) == repr(json.loads(write(value).encode(errors="replace"))), "types are told apart, too"


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", " a", "a\t", '":', "\\"]), plain), max_size=4),
    st.sampled_from(["", " ", "\r\n"]),
)
def test_a_key_that_comes_twice_is_found_with_any_space(pairs: list[tuple[str, Any]], space: str) -> None:
    members = (f"{compact(key)}:{space}{compact(value)}" for key, value in pairs)
    text = "{" + f",{space}".join(members) + "}"
    body = read_body(text.encode(errors="replace"))
    repeated = {key for key, _ in pairs if [each for each, _ in pairs].count(key) > 1}
    assert len(body.duplicates) == len(repeated)
    assert list(body.value) == list(dict.fromkeys(key for key, _ in pairs))


# libyaml, in C as in Go, knows no surrogate pairs and no keys beyond 1024 characters.
short_text = st.text(st.characters(max_codepoint=0xD7FF), max_size=20)


small_plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | short_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(short_text, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(short_text, small_plain, max_size=4))
@example({"<<": []})
def test_json_is_yaml(value: Any) -> None:
    # A document marker keeps the YAML reader from taking the short way.
    data = b"--- " + json.dumps(value, ensure_ascii=True).encode()
    assert read_body(data, YAML).value == json.loads(json.dumps(value))

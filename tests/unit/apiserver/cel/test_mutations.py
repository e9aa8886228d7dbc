"""Values that expressions of mutating policies create."""

from __future__ import annotations

from typing import Any

import pytest

from podling.apiserver.cel.environments import environment
from podling.apiserver.cel.mutations import misplaced, plain
from podling.apiserver.cel.programs import NotCompiled, Program

NAMES = environment(mutations=True)


def made(text: str) -> Any:
    return Program(text, NAMES).evaluate({"object": {"n": 3}})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Object{spec: Object.spec{replicas: object.n}}", {"spec": {"replicas": 3}}),
        ("Object{metadata: Object.metadata{labels: {'a': 'b'}}}", {"metadata": {"labels": {"a": "b"}}}),
        ("Object{spec: Object.spec{?replicas: optional.none()}}", {"spec": {}}),
        (
            "[JSONPatch{op: 'add', path: '/a/' + jsonpatch.escapeKey('x/y~z'), value: 1}]",
            [{"op": "add", "path": "/a/x~1y~0z", "value": 1}],
        ),
        ("Object{data: b'ab', wait: duration('90s')}", {"data": "YWI=", "wait": "90s"}),
        ("Object{at: timestamp('2026-01-01T00:00:00Z')}", {"at": "2026-01-01T00:00:00Z"}),
    ],
)
def test_created_object_is_plain_data(text: str, value: Any) -> None:
    assert plain(made(text)) == value


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("Object{spec: Object.spec{a: Object.spec.a{}}}", []),
        ("Object{spec: Object.status{}}", [("Object.status", "Object.spec")]),
        ("Object{l: [Object.l{}, dyn(Object.m{})]}", [("Object.m", "Object.l")]),
        ("Object{spec: {'k': Object{}}}", [("Object", "Object.spec")]),
        ("Object.spec{}", [("Object.spec", "Object")]),
    ],
)
def test_part_must_be_named_after_its_place(text: str, problems: list[tuple[str, str]]) -> None:
    assert list(misplaced(made(text))) == [
        f'unexpected type name "{name}", expected "{place}", '
        "which matches field name path from root Object type"
        for name, place in problems
    ]


@pytest.mark.parametrize("text", ["Object{}", "JSONPatch{op: 'add'}"])
def test_other_policies_cannot_create_objects(text: str) -> None:
    with pytest.raises(NotCompiled):
        Program(text, environment())


def test_patch_has_no_other_fields() -> None:
    with pytest.raises(NotCompiled, match="undefined field 'nothing'"):
        Program("JSONPatch{nothing: 'add'}", NAMES)

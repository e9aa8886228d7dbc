"""Tests of the warnings about unsupported fields."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import pytest

from podling.api.core_v1 import Pod, PodSpec
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.pod.pod_unsupported import UNSUPPORTED
from tests.support.manifests import NOW, pod, rules

C0 = "spec.containers[0]"
ROWS: list[tuple[str, list[str]]] = [
    ("spec: {hostUsers: false}", []),
    ("spec: {hostUsers: true}", []),
    (
        "spec: {containers: [{name: a, image: x, securityContext: {windowsOptions: {}}}]}",
        [f"{C0}.securityContext.windowsOptions: not honoured by this cluster"],
    ),
    (
        "spec: {containers: [{name: a, image: x, securityContext: {seLinuxOptions: {level: s0}, "
        "appArmorProfile: {type: RuntimeDefault}}}]}",
        [],
    ),
]


@pytest.mark.parametrize(("manifest", "expected"), ROWS)
def test_new_pod_with_unsupported_field_warns(manifest: str, expected: list[str]) -> None:
    assert rules(Pod).warnings(pod(manifest), None, Context(NOW)) == expected


def struct_of(hint: Any) -> Any:
    """Return the struct in an optional or a tuple."""
    found = [struct_of(part) for part in get_args(hint)]
    return hint if hasattr(hint, "__struct_fields__") else next(filter(None, found), None)


def test_table_of_unsupported_fields_names_real_fields() -> None:
    """A row with a wrong path would never warn, or raise an exception."""
    for row in UNSUPPORTED:
        kind: Any = PodSpec
        for step in row.split("."):
            name = step.removesuffix("[*]").removesuffix("=false")
            assert name in kind.__struct_fields__, row
            kind = struct_of(get_type_hints(kind)[name])
    assert len(UNSUPPORTED) == len(set(UNSUPPORTED))

"""Variables of expressions in admission."""

from __future__ import annotations

from typing import Any

import pytest

from podling.apiserver.cel.environments import environment
from podling.apiserver.cel.programs import NotCompiled, Program
from podling.apiserver.cel.types import DYN, INT


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "request.userInfo.groups.exists(g, g == 'system:masters') && !request.dryRun"),
        ({}, "request.kind.kind == 'Pod' && request.requestResource.resource == 'pods'"),
        ({}, "namespaceObject.metadata.labels['a'] == 'b' && namespaceObject.status.phase == 'Active'"),
        ({}, "namespaceObject.metadata.creationTimestamp < timestamp('2026-01-01T00:00:00Z')"),
        ({}, "object.anything.at.all == oldObject.anything"),
        ({"params": DYN}, "params.limit > 1"),
        ({"variables": {"n": INT}}, "variables.n + 1 == 2"),
        ({}, "authorizer.path('/x').check('get').allowed()"),
    ],
)
def test_variable_has_its_type(options: dict[str, Any], text: str) -> None:
    assert str(Program(text, environment(**options)).type) == "bool"


@pytest.mark.parametrize(
    ("options", "text", "why"),
    [
        ({}, "params.limit > 1", "undeclared reference to 'params'"),
        ({}, "variables.n == 1", "undeclared reference to 'variables'"),
        ({"authorizer": False}, "authorizer.path('/x') == null", "undeclared reference to 'authorizer'"),
        ({"variables": {"n": INT}}, "variables.m == 1", "undefined field 'm'"),
        ({}, "request.user == ''", "undefined field 'user'"),
        ({}, "request.name == 1", "found no matching overload for '_==_'"),
        ({}, "namespaceObject.metadata.managedFields == null", "undefined field 'managedFields'"),
    ],
)
def test_unknown_name_is_a_compilation_error(options: dict[str, Any], text: str, why: str) -> None:
    with pytest.raises(NotCompiled, match=why):
        Program(text, environment(**options))

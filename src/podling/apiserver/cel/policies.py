"""The expressions of one admission policy, compiled at their first use.

Variables see what was defined before them, and are evaluated when they are first used.
Upstream: ``CompositedCompiler`` in ``apiserver/pkg/admission/plugin/cel/composition.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from podling.apiserver.cel.environments import environment
from podling.apiserver.cel.programs import Failure, NotCompiled, Program
from podling.apiserver.cel.types import DYN, Type

Compiled = Program | NotCompiled


def compiled(text: str, names: Mapping[str, Type]) -> Compiled:
    try:
        return Program(text, names)
    except NotCompiled as problem:
        return problem


class PolicyExpressions:
    """Args:
    variables: names and expressions, in order.
    params: the type of the policy's parameters; None if it has none.
    objects: the type of the objects that it sees.
    mutations: whether its expressions can make objects and patches.
    """

    def __init__(
        self,
        variables: Iterable[tuple[str, str]],
        *,
        params: Type | None,
        objects: Type = DYN,
        mutations: bool = False,
    ) -> None:
        self._params, self._objects, self._mutations = params, objects, mutations
        self._types: dict[str, Type] = {}
        self.variables: dict[str, Compiled] = {}
        for name, text in variables:
            made = self.variables[name] = compiled(text, self.names())
            self._types[name] = made.type if isinstance(made, Program) else DYN
        self._programs: dict[tuple[str, bool], Compiled] = {}

    def names(self, *, condition: bool = False, authorizer: bool = True) -> dict[str, Type]:
        """Return the variables of an expression; ``condition``: it is evaluated before variables exist."""
        variables = None if condition else self._types
        return environment(
            params=self._params,
            authorizer=authorizer,
            variables=variables,
            objects=self._objects,
            mutations=self._mutations and not condition,
        )

    def program(self, text: str, *, condition: bool = False) -> Program:
        """Raises ``NotCompiled``."""
        found = self._programs.get((text, condition))
        if found is None:
            found = self._programs[text, condition] = compiled(text, self.names(condition=condition))
        if isinstance(found, NotCompiled):
            raise found
        return found

    def condition(self, text: str) -> Program:
        """Return a match condition. Raises ``NotCompiled``."""
        return self.program(text, condition=True)

    def lazily(self, values: Mapping[str, Any], budget: list[int]) -> dict[str, Any]:
        """Return the variables for expressions that see ``values``."""
        return _Variables(self.variables, values, budget)


class _Variables(dict[str, Any]):
    def __init__(
        self, programs: Mapping[str, Compiled], values: Mapping[str, Any], budget: list[int]
    ) -> None:
        super().__init__()
        self._programs, self._values, self._budget = programs, values, budget

    def __contains__(self, name: object) -> bool:
        return name in self._programs

    def __missing__(self, name: str) -> Any:
        program = self._programs[name]
        if isinstance(program, NotCompiled):
            raise Failure(f'composited variable "{name}" fails to compile: {program}')
        try:
            found = self[name] = program.evaluate({**self._values, "variables": self}, self._budget)
        except Failure as error:
            raise Failure(f'composited variable "{name}" fails to evaluate: {error}') from None
        return found

"""CEL expressions, compiled: checked against the types of what they will see, and run within a budget.

The words of what is wrong are cel-go's. Limits are those of ``k8s.io/apiserver/pkg/apis/cel/config.go``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

from podling.apiserver.cel.compiler import Compiler, Problem
from podling.apiserver.cel.readers import reader
from podling.apiserver.cel.runs import BUDGET, Failure, OverBudget, TrialBudget
from podling.apiserver.cel.syntax import SyntaxProblem, parse
from podling.apiserver.cel.types import Type
from podling.apiserver.cel.values import Optional

__all__ = ["Failure", "NotCompiled", "Optional", "OverBudget", "Program", "TrialBudget", "syntax_problem"]

PER_CALL = 1_000_000
"""The maximum cost of evaluating one expression."""
PER_OBJECT = 2_000_000
"""The maximum cost of all rules of an object; a fifth of upstream's, as other requests wait meanwhile."""
PER_TRIAL = 8_000
"""The maximum cost of what the event loop evaluates in one piece: at most 4 ms."""


_CALLS = 5000
"""The depth of nested calls for an expression of the maximum depth of cel-go."""
_SHORT = 500
"""An expression of so few characters is not deep."""


class _Room:
    """Raises the recursion limit while any thread is in the calls of a deep expression."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._before = 0

    @contextmanager
    def of(self, text: str) -> Iterator[None]:
        if len(text) <= _SHORT:
            yield
            return
        with self._lock:
            if not self._inside:
                self._before = sys.getrecursionlimit()
                sys.setrecursionlimit(max(self._before, _CALLS))
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if not self._inside:
                    sys.setrecursionlimit(self._before)


_room = _Room().of


class NotCompiled(Exception):
    """A text that is no expression for these variables. The message shows where, as cel-go does.

    ``said``: the message, and before it how far compiling came.
    """

    def __init__(self, text: str, stage: str = "compilation failed") -> None:
        super().__init__(text)
        self.said = f"{stage}: {text}"


class Program:
    """A compiled expression. Raises ``NotCompiled``.

    Args:
        variables: the types of the names that the expression may use.
    """

    def __init__(self, text: str, variables: Mapping[str, Type]) -> None:
        self._text = text
        compiler = Compiler()
        try:
            with _room(text):
                found = compiler.compile(parse(text), variables)
        except SyntaxProblem as problem:
            raise NotCompiled(_all_shown(text, [problem, *problem.others])) from None
        if wrong := compiler.problems or compiler.doubts:
            raise NotCompiled(_all_shown(text, wrong))
        if compiler.unmade:
            raise NotCompiled(compiler.unmade, "program instantiation failed")
        self.type, self.cost, self._run = found.type, found.cost, found.run
        self.names = frozenset(compiler.used & variables.keys())
        """The variables that it refers to."""
        self._readers = {name: read for name, type_ in variables.items() if (read := reader(type_))}

    def evaluate(self, values: Mapping[str, Any], budget: list[int] | None = None) -> Any:
        """The value of the expression, paid for from ``budget``. Raises ``Failure`` or ``OverBudget``."""
        scope = {**values, BUDGET: [PER_CALL] if budget is None else budget}
        for name, read in self._readers.items():
            try:
                scope[name] = read(scope[name])
            except ValueError as error:
                raise Failure(str(error)) from None
        if len(self._text) <= _SHORT:
            return self._run(scope)
        with _room(self._text):
            return self._run(scope)


def syntax_problem(text: str) -> str | None:
    """Return the syntax error of an expression, as Kubernetes shows it; None if it is valid."""
    try:
        with _room(text):
            parse(text)
    except SyntaxProblem as problem:
        return _all_shown(text, [problem, *problem.others])
    return None


def _all_shown(text: str, problems: Sequence[SyntaxProblem | Problem]) -> str:
    return "\n".join(_shown(text, each.text, each.at) for each in sorted(problems, key=lambda each: each.at))


def _shown(text: str, problem: str, at: int) -> str:
    """Return a problem with the line that has it, and a mark below the place."""
    if at < 0:
        return f"ERROR: <input>:-1:0: {problem}"
    before = text[:at]
    line, column = before.count("\n") + 1, at - (before.rfind("\n") + 1)
    lines = text.split("\n")
    shown = lines[line - 1].replace("\t", " ")
    return f"ERROR: <input>:{line}:{column + 1}: {problem}\n | {shown}\n | {'.' * column}^"

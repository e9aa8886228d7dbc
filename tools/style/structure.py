"""Structure of the source: sizes of folders, import cycles, and modules without a test file of their name."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

BRANCHES = (
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.Try,
    ast.IfExp,
    ast.BoolOp,
    ast.comprehension,
    ast.Match,
)
LOGIC_BRANCHES_MIN = 3
"""A module with fewer branches holds declarations, and needs no test file of its own."""


def widest_folder(files: Iterable[Path]) -> tuple[int, Path]:
    """Return the largest number of modules in one folder, and that folder."""
    count = Counter(path.parent for path in files)
    folder = max(count, key=lambda each: count[each])
    return count[folder], folder


def has_logic(source: str) -> bool:
    """Return whether a module decides anything worth a test file of its own."""
    branches = sum(isinstance(node, BRANCHES) for node in ast.walk(ast.parse(source)))
    return branches >= LOGIC_BRANCHES_MIN


def test_file_of(module: Path) -> Path:
    """Return the path below ``tests/unit`` that mirrors a path below ``src/podling``."""
    return module.parent / f"test_{module.name}"


def imports_of(source: str, modules: frozenset[str]) -> set[str]:
    """Return the modules of the project that a module imports, also inside of functions.

    Imports for type checkers alone do not count.

    Args:
        modules: dotted names of all modules.
    """
    found: set[str] = set()
    pending: list[ast.AST] = [ast.parse(source)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending += node.orelse
            continue
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in modules else node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        pending += ast.iter_child_nodes(node)
    return found & modules


def cycles(imports: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import one another, each sorted (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    groups: list[list[str]] = []
    children = defaultdict(list, {name: sorted(found - {name}) for name, found in imports.items()})
    for root in sorted(imports):
        if root in index:
            continue
        work = [(root, iter(children[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            name, rest = work[-1]
            for child in rest:
                if child not in index:
                    index[child] = low[child] = len(index)
                    stack.append(child)
                    on_stack.add(child)
                    work.append((child, iter(children[child])))
                    break
                if child in on_stack:
                    low[name] = min(low[name], index[child])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    group: list[str] = []
                    while not group or group[-1] != name:
                        group.append(stack.pop())
                        on_stack.discard(group[-1])
                    if len(group) > 1:
                        groups.append(sorted(group))
    return groups

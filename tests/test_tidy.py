"""Style rules that no formatter or linter checks, each with its reason and remedy.

Budgets are a ratchet: an exception is listed with its present size, which may only fall.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "podling"
EXTENSIONS = tuple(ROOT / "src" / f"podling_{name}" for name in ("kruise", "snapshots", "vpa"))
GENERATED = re.compile(r"_v\d+((alpha|beta)\d+)?\.py$")

FILE_LINES_MAX = 500
FILE_EXCEPTIONS: dict[str, int] = {}

PURE_MARK = re.compile(r"\bPure[.:;]")
"""A module is pure if its docstring has this word as a sentence, or before a colon or semicolon ..."""
PURE_NAMES = re.compile(r"_(rules|validation|plan|ranking)\.py$")
"""... or by its name ..."""
PURE_FOLDERS = ("apiserver/kinds/", "apiserver/cel/", "machinery/", "scheduler/plugins/")
"""... or by its folder. Pure modules have decisions: plain functions over values, without effects."""

EFFECT_IMPORTS = {"asyncio", "aiohttp", "logging", "subprocess", "socket", "podling.client", "podling.ids"}
EFFECT_CALLS = {"open", "read_bytes", "read_text", "write_bytes", "write_text", "unlink", "mkdir"}

ASKS_FOR_TIME = {"clock.now", "clock.monotonic", "clock.sleep"}

STARTS_TASKS = {
    "sim/recording/recorder.py": "ends with the recording",
    "testing/stopped_run.py": "the run goes on beside its visitor",
    "supervisor.py": "the supervisor itself",
    "clock.py": "waits for the first of several",
    "apiserver/proxy/upgrade_proxy.py": "ends with its connection",
    "apiserver/http/websocket_replies.py": "ends with its request",
    "apiserver/socket/session.py": "ends with its request",
    "apiserver/socket/store_stream.py": "ends with its request",
    "apiserver/socket/watch_stream.py": "ends with its request",
    "cancellation.py": "clean-up, awaited by its caller",
    "cli/follow.py": "ends with the command",
    "cluster/lasting_tasks.py": "waits for the first of several",
    "cluster/processes/part_process.py": "waits for the first of several",
    "kubelet/pods/pod_containers.py": "ends with the stop of a container",
    "kubelet/server/log_sources.py": "ends with its request",
    "kubelet/pods/pod_sync.py": "ends with the pass over its pod",
    "kubelet/server/port_forward.py": "ends with its connection",
    "kubelet/server/remote_command.py": "ends with its request",
    "kubelet/status/slow_calls.py": "ends with the call that it watches",
    "kubelet/server/spdy_tunnel.py": "ends with its connection",
    "kubelet/containers/termination.py": "ends with the pass over its pod",
    "kubelet/timed_runtime.py": "one call, awaited by its caller",
    "kubelet/pods/worker.py": "one pass over its pod",
    "network/ended_leases.py": "one task at a time; it handles its failures, and close ends it",
    "network/pod_network.py": "one set-up, awaited by close",
    "winding.py": "one condition or one start, awaited by its caller",
    "runtime/images/pulls.py": "one pull, awaited by its caller",
    "runtime/oci/attach.py": "ends with its request",
    "runtime/oci/exec.py": "ends with its request",
    "runtime/oci/port_forward.py": "ends with its connection",
    "runtime/oci/sandboxes.py": "the parts of one sandbox, awaited by its caller",
    "runtime/process/executions.py": "ends with its request",
    "runtime/process/link.py": "lives as long as its monitor, and reports every end",
    "runtime/process/member.py": "one start of a container, awaited by its caller",
    "runtime/process/port_forward.py": "ends with its connection",
    "runtime/sim/streams.py": "ends with its request",
    "testing/controllers.py": "ends with the block",
    "streaming/listener.py": "ends with the handshake, or when the listener closes",
}
"""Files that start tasks without a supervisor, because a caller waits for their end."""

TASK_STARTERS = {"create_task", "ensure_future", "TaskGroup"}

AIOHTTP_INTERNALS = "streaming/aiohttp_internals.py"
PRIVATE = re.compile(r"\b_[a-z]\w*")
AIOHTTP_DOCUMENTED = {"aiohttp", "aiohttp.web", "aiohttp.abc"}

BANNED = {
    "FIX" + "ME": "finish it, or say openly in docs/ what is missing",
    "TO" + "DO": "finish it, or say openly in docs/ what is missing",
    "# for te" + "sts": "no parameters that only tests need: put defaults in the tests",
}


def source_files() -> list[Path]:
    found = (path for root in (SOURCE, *EXTENSIONS) for path in root.rglob("*.py"))
    return sorted(path for path in found if not GENERATED.search(path.name))


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE if path.is_relative_to(SOURCE) else SOURCE.parent).as_posix()


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    return {name_of(path): ast.parse(path.read_text()) for path in source_files()}


def test_files_have_one_subject_and_a_readable_size() -> None:
    too_long = {
        name_of(path): lines
        for path in source_files()
        if (lines := len(path.read_text().splitlines())) > FILE_EXCEPTIONS.get(name_of(path), FILE_LINES_MAX)
    }
    assert not too_long, f"split these by subject: {too_long}"


def test_every_module_has_a_docstring(trees: dict[str, ast.Module]) -> None:
    silent = [name for name, tree in trees.items() if not ast.get_docstring(tree)]
    assert not silent, f"no module docstring: {silent}"


def test_banned_phrases_do_not_occur() -> None:
    found = [
        f"{name_of(path)}:{number}: {phrase!r}: {instead}"
        for path in source_files()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        for phrase, instead in BANNED.items()
        if phrase in line
    ]
    assert not found, "\n".join(found)


def test_nothing_but_the_clock_reads_the_loops_time(trees: dict[str, ast.Module]) -> None:
    """The linter cannot see ``loop.time()``, because the loop is a value, not a module."""
    offenders = [
        f"{name}:{call.lineno}"
        for name, tree in trees.items()
        if name not in ("clock.py", "sim/loop.py")
        for call in calls(tree)
        if isinstance(call.func, ast.Attribute)
        and call.func.attr == "time"
        and not call.args
        and "loop" in ast.unparse(call.func.value)
    ]
    assert not offenders, f"use podling.clock: {offenders}"


def test_decisions_are_pure(trees: dict[str, ast.Module]) -> None:
    pure = {name: tree for name, tree in trees.items() if is_pure(name, tree)}
    assert len(pure) > 250, "the rule that selects them selects nothing any more"
    for name, tree in pure.items():
        awaiting = [node for node in ast.walk(tree) if isinstance(node, (ast.AsyncFunctionDef, ast.Await))]
        assert not awaiting, f"{name} awaits: a decision takes what it needs as arguments"
        effects = set(imports(tree)) & EFFECT_IMPORTS
        assert not effects, f"{name} imports {effects}: effects stay at the edge"
        called = [ast.unparse(call.func) for call in calls(tree)]
        assert not ASKS_FOR_TIME.intersection(called), f"{name} reads the clock: a decision takes now"
        files = [each for each in called if is_file_access(each)]
        assert not files, f"{name} calls {files}: a decision takes what a file holds"


def is_pure(name: str, tree: ast.Module) -> bool:
    claimed = PURE_MARK.search(ast.get_docstring(tree) or "") or PURE_NAMES.search(name)
    return bool(claimed) or name.startswith(PURE_FOLDERS)


def is_file_access(called: str) -> bool:
    """Return whether a call reads or writes files; the package's own data counts as code."""
    owner, _, method = called.rpartition(".")
    if method == "open":
        return not owner
    return method in EFFECT_CALLS and "resources.files" not in owner


def test_errors_are_not_swallowed_in_silence(trees: dict[str, ast.Module]) -> None:
    """A broad ``except`` must do something with what it caught."""
    silent = [
        f"{name}:{handler.lineno}"
        for name, tree in trees.items()
        for handler in ast.walk(tree)
        if isinstance(handler, ast.ExceptHandler)
        and (handler.type is None or ast.unparse(handler.type) in ("Exception", "BaseException"))
        and all(isinstance(statement, (ast.Pass, ast.Continue)) for statement in handler.body)
    ]
    assert not silent, f"say what happened, or catch what you expect: {silent}"


def test_only_supervisors_start_background_tasks(trees: dict[str, ast.Module]) -> None:
    starting = {
        name
        for name, tree in trees.items()
        for call in calls(tree)
        if ast.unparse(call.func).rpartition(".")[2] in TASK_STARTERS
    }
    assert starting - STARTS_TASKS.keys() == set(), "use podling.supervisor, or list the file with a reason"
    assert STARTS_TASKS.keys() - starting == set(), "these start no tasks any more: take them off the list"


def test_private_interface_of_aiohttp_is_used_in_one_module(trees: dict[str, ast.Module]) -> None:
    found: list[str] = []
    for name, tree in trees.items():
        modules = {each.module or "" for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)}
        modules |= {
            alias.name for each in ast.walk(tree) if isinstance(each, ast.Import) for alias in each.names
        }
        known = {each for each in modules if each.partition(".")[0] == "aiohttp"}
        if name == AIOHTTP_INTERNALS or not (known or f"podling.{dotted(AIOHTTP_INTERNALS)}" in modules):
            continue
        found += [f"{name} imports {each}" for each in sorted(known - AIOHTTP_DOCUMENTED)]
        for type_ in vars(importlib.import_module(f"podling.{dotted(name)}")).values():
            if isinstance(type_, type) and type_.__module__ == f"podling.{dotted(name)}":
                found += [f"{name}: {type_.__name__}.{each}" for each in inherited_private_names(type_)]
        found += [f"{name}: {each}" for each in private_names_of_others(tree)]
    assert not found, f"give it a name in {AIOHTTP_INTERNALS}: {found}"


def dotted(name: str) -> str:
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def inherited_private_names(type_: type) -> set[str]:
    """Return the private names that a class shares with aiohttp's classes among its bases."""
    bases = [each for each in type_.__mro__ if each.__module__.startswith("aiohttp.")]
    theirs = {name for each in bases for name in PRIVATE.findall(inspect.getsource(each))}
    return theirs.intersection(PRIVATE.findall(inspect.getsource(type_))) if theirs else set()


def private_names_of_others(tree: ast.Module) -> list[str]:
    """Return the private attributes that a module uses of what it has not defined."""
    own = {each.attr for each in ast.walk(tree) if isinstance(each, ast.Attribute) and is_self(each.value)}
    own |= {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
    return [
        ast.unparse(each)
        for each in ast.walk(tree)
        if isinstance(each, ast.Attribute)
        and PRIVATE.fullmatch(each.attr)
        and not is_self(each.value)
        and each.attr not in own
    ]


def is_self(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def test_the_page_on_architecture_names_every_package() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    packages = sorted(path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists())
    assert [each for each in packages if each not in page] == []


def calls(tree: ast.Module) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)

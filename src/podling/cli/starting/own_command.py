"""The command with which Podling starts itself again, in a process of its own or in place of this one."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import podling

CODE = Path(podling.__file__).parents[1]


def own_command(*arguments: str, module: str = "podling") -> list[str]:
    """Return the command that runs a module of ours with this interpreter.

    It imports nothing from the current folder, where a file may have the name of one of Python's modules
    (``operator.py``, ``types.py``).
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def own_environment() -> dict[str, str]:
    """Return the environment in which ``own_command`` finds this code."""
    return environment_with(os.environ, CODE, sys.path, is_safe=bool(sys.flags.safe_path))


def environment_with(
    environment: Mapping[str, str], code: Path, path: Sequence[str], *, is_safe: bool
) -> dict[str, str]:
    """Return an environment in which Python finds ``code`` without the first entry of ``path``.

    That entry is the folder of the program, or the current one, where Python was not started with ``-P``
    (``is_safe``). Code that is found by it alone, as in a checkout without an installation, is named in
    ``PYTHONPATH``.
    """
    found = dict(environment)
    if not is_safe and path and _is_same(path[0], code) and str(code) not in path[1:]:
        found["PYTHONPATH"] = os.pathsep.join(filter(None, (found.get("PYTHONPATH"), str(code))))
    return found


def _is_same(entry: str, code: Path) -> bool:
    """Return whether an entry of Python's path, in which empty is the current folder, is ``code``."""
    return Path(entry or ".").resolve() == code.resolve()

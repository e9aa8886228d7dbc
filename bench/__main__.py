"""``python -m bench [NAME ...]``: run the benchmarks: those named, or all but the long ones."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from pathlib import Path
from types import FrameType

SUPPORT = {"__init__", "__main__", "harness"}
LONG = {"abuse"}
"""Benchmarks of half an hour, which run only when they are named."""

ENDING = (signal.SIGTERM, signal.SIGHUP)


def leave(number: int, frame: FrameType | None) -> None:
    """Raise an exception, so that everything a benchmark started ends with it, first of all its cluster.

    A second signal must not cut that short.
    """
    for each in ENDING:
        signal.signal(each, lambda number, frame: None)
    sys.exit(128 + number)


def main() -> None:
    for each in ENDING:
        signal.signal(each, leave)
    known = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in SUPPORT)
    wanted = sys.argv[1:] or [name for name in known if name not in LONG]
    for name in wanted:
        if name not in known:
            sys.exit(f"no benchmark {name!r}; there are: {', '.join(known)}")
    # Without cached bytecode every start would measure the compiler.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    for name in wanted:
        print(f"== {name}", flush=True)
        importlib.import_module(f"bench.{name}").main()


main()

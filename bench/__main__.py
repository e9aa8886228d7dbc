"""``python -m bench [NAME ...]``: run the benchmarks, all or those named."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

SUPPORT = {"__init__", "__main__", "harness"}


def main() -> None:
    known = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in SUPPORT)
    wanted = sys.argv[1:] or known
    for name in wanted:
        if name not in known:
            sys.exit(f"no benchmark {name!r}; there are: {', '.join(known)}")
    # Whoever forbids Python to keep compiled modules would measure the compiler at every start.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    for name in wanted:
        print(f"== {name}", flush=True)
        importlib.import_module(f"bench.{name}").main()


main()

"""Observation of files between the file-system calls of the code under test.

A reader in another thread or process sees the few microseconds between two calls by luck only. Here the
reader looks after each call, so it misses none of these states.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def after_each_file_call(look: Callable[[str], None]) -> Iterator[None]:
    """Call ``look`` with the name of each file-system call of this thread's Python code that has returned.

    These are the functions of ``os``, ``open``, and the methods of open files. ``look`` is not observed.
    """

    def note(frame: FrameType, event: str, function: Any) -> None:
        if event in ("c_return", "c_exception") and _is_file_call(function):
            look(function.__name__)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(before)


def _is_file_call(function: Any) -> bool:
    module = getattr(function, "__module__", None)
    return module in ("posix", "_io") or isinstance(getattr(function, "__self__", None), io.IOBase)

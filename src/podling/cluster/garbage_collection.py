"""Memory of the process of a cluster, while it starts and once it runs: garbage collector and allocator."""

from __future__ import annotations

import gc

from podling import allocator

YOUNG_OBJECTS = 10_000
"""The collector looks at new objects when there are so many. A request makes hundreds, which are gone before
it comes if it does not come too often (Python's own number is 700)."""


OBJECTS_OF_THE_START = 200_000
"""The same while the process starts: what importing modules makes stays."""


def begin() -> None:
    """Let the collector look less often while the process starts, until ``settle``."""
    gc.set_threshold(OBJECTS_OF_THE_START, *gc.get_threshold()[1:])


def settle() -> None:
    """Take what starting has made out of the garbage collector's sight: it stays until the end.

    A full collection looks through every function, module and type again, which holds the event loop for
    longer than any request does. The cluster's objects are not looked at in any case: they form no cycles.
    """
    allocator.tune()
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])

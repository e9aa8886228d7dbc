"""Run a command of podling and print where it held its event loop for long.

    python -m tools.loop_holds [--over SECONDS] -- up --runtime sim --data-dir /tmp/x --port 0

A thread looks at the main thread's stack every 2 ms. While the loop waits for events it stands in uvloop's
``run_forever`` itself; each series of samples in which it does not is a piece. The innermost frames of pieces
that lasted longer than ``--over`` are counted, and printed at the end, the longest total first. A piece that
begins and ends within 2 ms may be missed, and consecutive callbacks of one turn count as one piece.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time  # noqa: TID251 - samples real time in a thread
from collections import Counter
from types import FrameType

from podling.cli.main import main as podling

SAMPLE_SECONDS = 0.002
INNERMOST = 7
"""Frames of the package that are shown for a piece."""

_Stack = tuple[str, ...]


class Samples:
    """The stacks of the loop's thread, by piece."""

    def __init__(self, thread: int, over: float) -> None:
        self._thread = thread
        self._over = over
        self._piece: list[_Stack] = []
        self._began = 0.0
        self.seconds: Counter[_Stack] = Counter()
        self.pieces: list[float] = []

    def run(self) -> None:
        """Sample for as long as the process lives."""
        while True:
            time.sleep(SAMPLE_SECONDS)
            self._add(_stack(sys._current_frames().get(self._thread)), time.monotonic())

    def _add(self, stack: _Stack, now: float) -> None:
        if stack:
            if not self._piece:
                self._began = now
            self._piece.append(stack)
            return
        lasted = now - self._began
        if self._piece and lasted > self._over:
            self.pieces.append(lasted)
            for each in self._piece:
                self.seconds[each] += 1
        self._piece = []


def _stack(frame: FrameType | None) -> _Stack:
    """Return the frames inside of the loop, the innermost first; empty while the loop waits for events."""
    found: list[str] = []
    while frame is not None:
        code = frame.f_code
        if code.co_name in ("run_forever", "run_until_complete", "run") and "asyncio" in code.co_filename:
            return tuple(found[:INNERMOST])
        found.append(f"{'/'.join(code.co_filename.rsplit('/', 2)[-2:])}:{frame.f_lineno} {code.co_name}")
        frame = frame.f_back
    return ()


def _print(samples: Samples) -> None:
    longest = sorted(samples.pieces, reverse=True)[:10]
    print(f"{len(samples.pieces)} pieces; the longest: {', '.join(f'{each:.3f} s' for each in longest)}")
    for stack, count in samples.seconds.most_common(30):
        print(f"{count * SAMPLE_SECONDS:8.3f} s  " + "\n            ".join(stack))


def main() -> None:
    """Run the command; print the pieces, also after an interrupt."""
    parser = argparse.ArgumentParser(prog="python -m tools.loop_holds")
    parser.add_argument("--over", type=float, default=0.01)
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    samples = Samples(threading.get_ident(), given.over)
    threading.Thread(target=samples.run, daemon=True).start()
    sys.setswitchinterval(0.0005)
    try:
        podling.main(args=given.command, prog_name="podling")
    finally:
        _print(samples)


if __name__ == "__main__":
    main()

"""Run a command of podling and print where it held its event loop for long.

    python -m tools.loop_holds [--over SECONDS] -- up --runtime sim --data-dir /tmp/x --port 0

A thread looks at the main thread's stack every 2 ms, and schedules a callback of the loop as soon as the last
one has run: the time until then is a piece. The innermost frames of pieces that lasted longer than ``--over``
are counted, and printed at the end, the longest total first. A piece that begins and ends within 2 ms may be
missed, the callbacks of one turn count as one piece, and so does time that other processes took.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
import time  # noqa: TID251 - samples real time in a thread
from collections import Counter
from contextlib import suppress
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
        self._scheduled_at: float | None = None
        """When the callback was scheduled that has not run yet."""
        self.seconds: Counter[_Stack] = Counter()
        self.pieces: list[float] = []

    def run(self) -> None:
        """Sample for as long as the process lives."""
        while True:
            time.sleep(SAMPLE_SECONDS)
            stack, loop = _sample(sys._current_frames().get(self._thread))
            if self._scheduled_at is not None:
                self._piece.append(stack)
            elif loop is not None:
                self._scheduled_at = time.monotonic()
                with suppress(RuntimeError):  # the loop has just been closed
                    loop.call_soon_threadsafe(self._end_piece)

    def _end_piece(self) -> None:
        """Note how long the callback waited. Runs on the loop."""
        assert self._scheduled_at is not None
        lasted = time.monotonic() - self._scheduled_at
        piece, self._piece, self._scheduled_at = self._piece, [], None
        if lasted > self._over:
            self.pieces.append(lasted)
            self.seconds.update(filter(None, piece))


def _sample(frame: FrameType | None) -> tuple[_Stack, asyncio.AbstractEventLoop | None]:
    """Return the frames inside of the loop, the innermost first, and the loop; nothing where none runs."""
    found: list[str] = []
    while frame is not None:
        code = frame.f_code
        if code.co_name == "run" and code.co_filename.endswith("asyncio/runners.py"):
            runner = frame.f_locals.get("self")
            return tuple(found[:INNERMOST]), runner.get_loop() if runner is not None else None
        found.append(f"{'/'.join(code.co_filename.rsplit('/', 2)[-2:])}:{frame.f_lineno} {code.co_name}")
        frame = frame.f_back
    return (), None


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

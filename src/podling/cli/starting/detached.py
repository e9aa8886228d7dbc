"""Commands that go on in the background: what their process shows, and the parent that waits for it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import click

from podling import clock
from podling.cli.common_options import Failure
from podling.cli.starting.own_command import own_command, own_environment
from podling.cluster.directory import DataDirectory
from podling.cluster.directory_errors import DirectoryUnusable
from podling.files.private import open_private

READY_LINE = "ready"
FAILURE = "failed: "

STARTED = clock.machine_monotonic()
"""When this module was imported: close enough to when the process began."""


class Progress:
    """Shows each step with the seconds since the process began; to the waiting parent as well."""

    def __init__(self, descriptor: int) -> None:
        self._parent: IO[str] | None = os.fdopen(descriptor, "w", buffering=1) if descriptor >= 0 else None

    def __call__(self, step: str, detail: str = "") -> None:
        seconds = clock.machine_monotonic() - STARTED
        line = f"{seconds:7.2f}s  {click.style(f'{step:<14}', bold=True)} {detail}"
        self._echo(line)
        if self._parent:
            self._parent.write(line + "\n")

    def ready(self, lines: list[str]) -> None:
        """The cluster is up: say what to type next and let the parent go."""
        self._echo(*lines)
        if self._parent:
            self._parent.write("\n".join([*lines, READY_LINE, ""]))
            self._parent.close()
            self._parent = None

    def failed(self, text: str) -> None:
        """Report to the parent why the cluster does not start: on a full disk the log lacks it."""
        if self._parent:
            self._parent.write(f"{FAILURE}{text}\n")

    @staticmethod
    def _echo(*lines: str) -> None:
        # The log of a detached cluster may be on a full disk, which must not end the cluster.
        with suppress(OSError):
            for line in lines:
                click.echo(line)
            sys.stdout.flush()


def detach_command(name: str, directory: DataDirectory, arguments: Sequence[str] | None = None) -> None:
    """Run a command without ``--detach`` in a session of its own, and show its progress.

    Args:
        arguments: of the command; None for those of this process. Raises ``Failure``.
    """
    try:
        directory.create()
    except DirectoryUnusable as error:
        raise Failure(str(error)) from error
    if arguments is None:
        arguments = [argument for argument in sys.argv[1:] if argument not in ("--detach", name)]
    if not any(argument.startswith("--data-dir") for argument in arguments):
        arguments = ["--data-dir", str(directory.path), *arguments]
    reader, writer = os.pipe()
    with open_private(directory.log, "ab") as log:
        child = subprocess.Popen(
            own_command(name, *arguments, "--progress-fd", str(writer)),
            env=own_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=(writer,),
        )
    os.close(writer)
    last = ""
    with os.fdopen(reader) as lines:
        for text in lines:
            last = text.rstrip("\n")
            if last == READY_LINE:
                return
            if not last.startswith(FAILURE):
                click.echo(last)
    child.wait()
    if last.startswith(FAILURE):
        raise Failure(last.removeprefix(FAILURE))
    raise Failure(_last_words(directory.log))


def _last_words(log: Path) -> str:
    """Why a detached start failed: the last line of its log, without click's own prefix."""
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1].removeprefix("Error: ") if lines else f"the cluster did not start; see {log}"

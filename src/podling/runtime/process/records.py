"""Files of the process runtime on disk, with which a new instance finds everything again.

    images.json                        names, and defaults of loaded images (``images.py``)
    sandboxes/<id>.json                a ``SandboxRecord``
    containers/<id>/container.json     the container as it was created
    containers/<id>/launch.json        what its monitor starts
    containers/<id>/start-<id>         permits a start, once (``claims.py``)
    containers/<id>/claimed            the permit in use: locked for as long as the monitor lives
    containers/<id>/started.json       left by the monitor: process id and time
    containers/<id>/exit.json          left by the monitor: exit code and time
    containers/<id>/rootfs/            links to its volumes

Files are replaced whole, so readers never see half of one.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from podling.runtime.base import Container, ContainerState, Sandbox

T = TypeVar("T")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
KILLED = 137


class SandboxRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A sandbox and the boot of the machine that it belongs to."""

    sandbox: Sandbox
    hostname: str
    boot: str


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """The input of a monitor. ``user`` is user, group and further groups; None: unchanged."""

    command: tuple[str, ...]
    environment: dict[str, str]
    working_dir: str
    log_path: str
    tty: bool
    stdin: bool
    stdin_once: bool
    user: tuple[int, int, list[int]] | None
    no_new_privileges: bool
    open_files: tuple[int, int] | None = None
    """The soft and the hard limit of open files; None leaves them as they are."""


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """``at`` is in nanoseconds since 1970."""

    pid: int
    monitor: int
    at: int


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """``failure`` says why the command could not even start: stage, error number, text."""

    code: int
    at: int
    failure: tuple[str, int, str] | None = None


def moment(nanoseconds: int) -> datetime:
    return EPOCH + timedelta(microseconds=nanoseconds // 1000)


def failure_text(command: str, failure: tuple[str, int, str]) -> str:
    """Why a command did not start, in the words of container runtimes."""
    stage, _, text = failure
    if stage == "exec":
        missing = "executable file not found in $PATH" if "/" not in command else text.lower()
        why = missing if text == "No such file or directory" else text.lower()
        return f'failed to start process: exec: "{command}": {why}'
    return f"failed to start process: {stage}: {text.lower()}"


def as_started(container: Container, started: Started) -> Container:
    return replace(container, state=ContainerState.RUNNING, started_at=moment(started.at), pid=started.pid)


def as_ended(container: Container, ended: Ended, command: str) -> Container:
    """Return the container with its end; ``started_at`` stays empty for one that never ran."""
    exited = replace(
        container,
        state=ContainerState.EXITED,
        finished_at=moment(ended.at),
        exit_code=ended.code,
        reason="Completed" if ended.code == 0 else "Error",
        pid=None,
    )
    if ended.failure:
        return replace(exited, reason="StartError", message=failure_text(command, ended.failure))
    return exited


def as_lost(container: Container, at: datetime) -> Container:
    """The monitor is gone without a word: the kernel has killed the command with it."""
    return replace(
        container,
        state=ContainerState.EXITED,
        finished_at=at,
        exit_code=KILLED,
        reason="Error",
        message="the process that watched over the container was killed",
        pid=None,
    )


def save(path: Path, record: Any) -> None:
    """Write a record so that a reader sees all of it or nothing."""
    fresh = path.with_suffix(".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)  # environments hold secrets
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(record))
    os.replace(fresh, path)


def load(path: Path, kind: type[T]) -> T | None:
    """Return the record, or None where there is none or none that can be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None

"""Options that several commands share, and what they mean."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from podling.cli.options.param_type import ParamType
from podling.cluster.directory import DataDirectory

Command = TypeVar("Command", bound=Callable[..., Any])

ENVIRONMENT = "PODLING_DATA_DIR"


class Failure(click.ClickException):
    """One line on standard error that says what is wrong and what to do; exit code 1."""


class NoAnswer(Failure):
    """A question that cannot be answered, where exit code 1 is an answer already."""

    exit_code = 3


def default_data_directory() -> Path:
    """Return the default data directory: the system's place for root, else the user's own."""
    if os.geteuid() == 0:
        return Path("/var/lib/podling")
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(base).expanduser() / "podling"


class _DataDirectoryType(ParamType[DataDirectory]):
    name = "directory"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> DataDirectory:
        if isinstance(value, DataDirectory):
            return value
        if not str(value):
            self.fail("names no directory", param, ctx)
        return DataDirectory(Path(value))


def checked_address(text: str | None, option: str) -> str | None:
    """Return an address in its usual form; an absent or empty one as it is.

    Raises ``click.BadParameter`` for text that is no address by which other machines reach this one.
    """
    if not text:
        return text
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is no IP address", param_hint=f"'{option}'") from None
    if address.is_loopback or address.is_unspecified or address.is_multicast or address.is_link_local:
        raise click.BadParameter(f"other machines cannot reach {text}", param_hint=f"'{option}'")
    return str(address)


def data_directory_option(command: Command) -> Command:
    """``--data-dir``: which cluster is meant."""
    return click.option(
        "--data-dir",
        "directory",
        type=_DataDirectoryType(),
        envvar=ENVIRONMENT,
        default=lambda: DataDirectory(default_data_directory()),
        metavar="DIR",
        help=f"Which cluster: its data directory.  [env: {ENVIRONMENT}; default: {default_data_directory()}]",
    )(command)


def require_running(directory: DataDirectory, failure: type[Failure] = Failure) -> int:
    """Return the process id of the running cluster. Raises ``failure`` when it does not run."""
    pid = directory.running_pid()
    if not pid:
        raise failure(
            f"no cluster is running from {directory.path}; start it: podling up --data-dir {directory.path}"
        )
    return pid

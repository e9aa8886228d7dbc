"""The option of ``podling up`` and ``podling join`` that enables extensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from podling.cli.common_options import Failure


def extension_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option to a command."""
    return click.option(
        "--with",
        "extensions",
        metavar="NAME",
        multiple=True,
        callback=lambda _context, _option, lists: ",".join(lists) if lists else None,
        help="Enable this extension, such as kruise; NAME:GATE=true also sets one of its feature gates. "
        "Several are separated by commas; '' disables all.  [default: as last time, or none]",
    )(command)


def chosen_extensions(text: str | None, last: tuple[str, ...]) -> tuple[str, ...]:
    """Return the extensions that the user chose, else those of the last run. Raises ``Failure``."""
    if text is None:
        return last
    from podling.extensions.loading import UnknownExtension, entries_of, extensions_of

    entries = entries_of(text)
    try:
        extensions_of(entries)
    except UnknownExtension as error:
        raise Failure(f"--with: {error}") from error
    return entries


def controllers_of(entries: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the extensions' controllers."""
    if not entries:
        return ()
    from podling.extensions.loading import extensions_of

    return tuple(name for each in extensions_of(entries) for name in each.controllers())

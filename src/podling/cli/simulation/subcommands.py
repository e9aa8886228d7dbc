"""``podling sim`` is a command with an argument, and ``podling sim import`` another one below it."""

from __future__ import annotations

import importlib
from typing import Any

import click

SUBCOMMANDS = {"import": ("podling.cli.simulation.import_command", "import_scenario")}


class WithSubcommands(click.Command):
    """A command whose first argument may be the name of another one, which is then imported."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args and args[0] in SUBCOMMANDS:
            module, attribute = SUBCOMMANDS[args[0]]
            command: click.Command = getattr(importlib.import_module(module), attribute)
            return command.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

"""Types of options with click 8.1, which the dependencies of Podling allow."""

from __future__ import annotations

import subprocess
import sys

MODULES = (
    "podling.cli.options.controller_options",
    "podling.cli.clock",
    "podling.cli.common_options",
    "podling.cli.simulation.import_command",
)
PROGRAM = """
import importlib
import sys
import click

def refuse(cls, parameter):
    raise TypeError("type 'ParamType' is not subscriptable")

click.ParamType.__class_getitem__ = classmethod(refuse)
for name in sys.argv[1:]:
    importlib.import_module(name)
"""


def test_modules_with_types_of_options_need_no_type_parameter_of_click() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, *MODULES], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

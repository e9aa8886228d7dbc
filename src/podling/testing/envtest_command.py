"""``podling envtest DIR``: programs that Go's envtest starts in place of kube-apiserver, etcd and kubectl.

Each is a script of one line that calls ``podling.testing.envtest_programs`` with this Python.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from podling.cli.common_options import Failure

PROGRAMS = ("etcd", "kube-apiserver", "kubectl")


@click.command("envtest")
@click.argument("directory", type=click.Path(path_type=Path))
def envtest(directory: Path) -> None:
    """Write kube-apiserver, etcd and kubectl for Go's envtest into DIRECTORY.

    Then run a test suite with KUBEBUILDER_ASSETS=DIRECTORY. It gets a whole cluster: controllers and
    simulated nodes, too. PODLING_ENVTEST_NODES (1) and PODLING_ENVTEST_CLOCK (running, paused, 60x) change
    it.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name in PROGRAMS:
            write_program(directory / name, name)
    except OSError as error:
        raise Failure(f"{directory}: {error.strerror}") from error
    click.echo(f"export KUBEBUILDER_ASSETS={directory.absolute()}")


def write_program(path: Path, name: str) -> None:
    """Write an executable that runs one of the programs. Raises ``OSError``."""
    path.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -P -m podling.testing.envtest_programs {name} "$0" "$@"\n'
    )
    path.chmod(0o755)

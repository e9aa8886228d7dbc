"""Calls of CNI plugins: programs with a command in their environment and a configuration as their input."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from podling.network.cni.results import describe_failure
from podling.runtime.base import RuntimeFailure
from podling.runtime.oci import commands

BIN_DIRECTORIES = (Path("/opt/cni/bin"), Path("/usr/lib/cni"))
"""The places of plugins: the usual directory of Kubernetes nodes, and Debian's."""
DEADLINE_SECONDS = 60.0


class Attachment(Struct, frozen=True, kw_only=True):
    """A pod's interface, as plugins receive it. ``arguments`` is ``CNI_ARGS``."""

    container: str
    namespace: str
    interface: str
    arguments: str = ""


def find_program(kind: str, directories: Sequence[Path] = BIN_DIRECTORIES) -> Path:
    """Return the program of the plugin ``kind``. Raises ``RuntimeFailure``."""
    for directory in directories:
        if (directory / kind).is_file():
            return directory / kind
    places = " or ".join(map(str, directories))
    raise RuntimeFailure(f"the CNI plugin {kind} is not installed: it is not in {places}")


async def call(
    command: str,
    kind: str,
    request: dict[str, Any],
    attachment: Attachment,
    directories: Sequence[Path] = BIN_DIRECTORIES,
) -> bytes:
    """Run a plugin with ``ADD``, ``DEL`` or ``CHECK``; return its output. Raises ``RuntimeFailure``."""
    program = find_program(kind, directories)
    environment = {
        "CNI_COMMAND": command,
        "CNI_CONTAINERID": attachment.container,
        "CNI_NETNS": attachment.namespace,
        "CNI_IFNAME": attachment.interface,
        "CNI_ARGS": attachment.arguments,
        "CNI_PATH": ":".join(map(str, directories)),
    }
    arguments = ["env", *(f"{name}={value}" for name, value in environment.items()), str(program)]
    failed = f"the CNI plugin {kind} failed on {command}"
    try:
        done = await commands.run(
            arguments, check=False, stdin=msgspec.json.encode(request), deadline=DEADLINE_SECONDS
        )
    except RuntimeFailure as error:
        raise RuntimeFailure(f"{failed}: it did not end within {DEADLINE_SECONDS:g} s") from error
    if done.code:
        raise RuntimeFailure(f"{failed}: {describe_failure(done.code, done.raw, done.errors)}")
    return done.raw

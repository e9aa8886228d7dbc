"""``fileKeyRef``: one variable read from a file of ``NAME='value'`` lines in a volume of the pod.

An init container writes the file, so it is read when the container that uses it starts. The syntax is a part
of the POSIX shell's: a value is in single quotes, taken as it is, and may go on in further lines; a comment
may follow it. Empty lines and those that begin with ``#`` are skipped. Any other line fails the container. An
empty value counts as a missing one (``pkg/kubelet/util/env``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from podling.api.core_v1 import FileKeySelector
from podling.kubelet.blocking import blocking_for_pod
from podling.kubelet.failures import MissingReference
from podling.runtime.oci.linux import open_file_in_root

MAX_BYTES = 64 * 1024
BLANKS = " \t"
INVALID = "invalid environment variable format"


def parse_env_file(text: str, key: str) -> str:
    """Return the value of a variable, the first one if there are several; empty if there is none.

    Raises ``ValueError``, in Kubernetes' words, for a malformed line before it.
    """
    lines = enumerate((line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")), start=1)
    for number, whole in lines:
        line = whole.lstrip(BLANKS)
        if not line or line.startswith("#"):
            continue
        name, equals, value = line.partition("=")
        if why := _malformed(name, equals, value):
            raise ValueError(f"{INVALID} at line {number}: {why}")
        found = _quoted(value[1:], lines, number) if value.startswith("'") else ""
        if name == key:
            return found
    return ""


def _malformed(name: str, equals: str, value: str) -> str:
    """Return what is wrong with a declaration; empty if nothing is."""
    if not equals:
        return "missing '='"
    if not name.rstrip(BLANKS):
        return "empty variable name"
    if name != name.rstrip(BLANKS):
        return "whitespace before '=' is not allowed"
    if not value.startswith(("'", *BLANKS)):
        return "value must be enclosed in single quotes"
    return ""


def _quoted(rest: str, lines: Iterator[tuple[int, str]], began: int) -> str:
    """Return a value up to its closing quote, which may be in one of the next lines."""
    parts, number = [], began
    while "'" not in rest:
        parts.append(rest)
        number, rest = next(lines, (0, ""))
        if not number:
            raise ValueError(f"{INVALID} starting at line {began}: unclosed single quote")
    last, _, after = rest.partition("'")
    after = after.lstrip(BLANKS)
    if after and not after.startswith("#"):
        raise ValueError(f"{INVALID} at line {number}: unexpected content after closing quote")
    return "\n".join((*parts, last))


async def read_env_file(pod_uid: str, volume: Path | None, selector: FileKeySelector) -> str | None:
    """Return the variable that ``selector`` names, None if it is missing and optional.

    Raises ``MissingReference``.
    """
    try:
        text = await blocking_for_pod(pod_uid, _read, volume, selector)
        found = parse_env_file(text, selector.key)
    except (OSError, ValueError) as error:
        if selector.optional and isinstance(error, FileNotFoundError):
            return None
        raise MissingReference(f"couldn't parse env file {selector.path}: {error}") from error
    if found:
        return found
    if selector.optional:
        return None
    raise MissingReference(f"environment variable key {selector.key} not found in file {selector.path}")


def _read(volume: Path | None, selector: FileKeySelector) -> str:
    if volume is None:
        raise FileNotFoundError(f"volume {selector.volume_name} is not mounted")
    with os.fdopen(open_file_in_root(volume, selector.path), "rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise OSError(f"larger than {MAX_BYTES} bytes")
    return data.decode(errors="surrogateescape")

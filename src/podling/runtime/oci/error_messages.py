"""The OCI runtimes' errors in the words that Kubernetes' users know.

crun and runc report the same errors differently, and conmon passes on their output. Errors that a user can
act on take one form: the messages of runc, which most pages quote.
"""

from __future__ import annotations

import re

import msgspec

START_ERROR = "StartError"
START_ERROR_CODE = 128
"""The exit code of a container that could not be started, for any reason: containerd's."""

_PREFIX = re.compile(r"^(?:\[conmon:[a-z]\]: |time=\S+ level=\w+ msg=|container_linux\.go:\d+: )+")
_CRUN_NOT_FOUND = re.compile(r"executable file `(.+?)` not found(?: in \$PATH)?")
_RUNC_EXEC = re.compile(r'exec: "(.+?)": (.+?)(?:: unknown)?"?$', re.DOTALL)
_CRUN_EXEC = re.compile(r"(?:exec|open executable|cannot stat)[:]? ?`(.+?)`?: (.+)$")


def start_failure(text: str, command: str) -> str:
    """Return a runtime's message about a container that it could not make.

    ``command`` is what was to be run: a path is looked for as a file, a name in ``$PATH``.
    """
    text = _unquoted(_PREFIX.sub("", text.strip().splitlines()[-1] if text.strip() else text))
    lowered = text.lower()
    if _CRUN_NOT_FOUND.search(text) or "executable file not found" in lowered:
        return _not_found(command)
    if "no such file or directory" in lowered and (f"`{command}`" in text or f'"{command}"' in text):
        return _not_found(command)
    if "exec format error" in lowered:
        return f'exec: "{command}": exec format error'
    if "permission denied" in lowered and (command in text or "exec" in lowered):
        return f'exec: "{command}": permission denied'
    found = _RUNC_EXEC.search(text)
    if found:
        return f'exec: "{found.group(1)}": {found.group(2)}'
    return text


def _unquoted(text: str) -> str:
    """Return the message in a line of a log: runc quotes its messages there, and the quotes within them."""
    try:
        return msgspec.json.decode(text, type=str)
    except msgspec.MsgspecError:
        return text.strip('"')


def _not_found(command: str) -> str:
    if "/" in command:
        return f'exec: "{command}": stat {command}: no such file or directory'
    return f'exec: "{command}": executable file not found in $PATH'

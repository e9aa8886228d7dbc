"""The OCI runtimes' errors in the words that Kubernetes' users know.

crun and runc report the same errors differently, and conmon passes on their output. Errors that a user can
act on take one form: the messages of runc, which most pages quote.
"""

from __future__ import annotations

import re

START_ERROR = "StartError"
START_ERROR_CODE = 128
NOT_FOUND_CODE = 127

_PREFIX = re.compile(r"^(?:\[conmon:[a-z]\]: |time=\S+ level=\w+ msg=|container_linux\.go:\d+: )+")
_CRUN_NOT_FOUND = re.compile(r"executable file `(.+?)` not found(?: in \$PATH)?")
_RUNC_EXEC = re.compile(r'exec: "(.+?)": (.+?)(?:: unknown)?"?$', re.DOTALL)
_CRUN_EXEC = re.compile(r"(?:exec|open executable|cannot stat)[:]? ?`(.+?)`?: (.+)$")


def start_failure(text: str, command: str) -> tuple[str, int]:
    """A runtime's message about a container it could not make, and the exit code it counts as.

    ``command`` is what was to be run: a path is looked for as a file, a name in ``$PATH``.
    """
    text = _PREFIX.sub("", text.strip().splitlines()[-1] if text.strip() else text).strip('"')
    lowered = text.lower()
    if _CRUN_NOT_FOUND.search(text) or "executable file not found" in lowered:
        return _not_found(command), NOT_FOUND_CODE
    if "no such file or directory" in lowered and (f"`{command}`" in text or f'"{command}"' in text):
        return _not_found(command), NOT_FOUND_CODE
    if "exec format error" in lowered:
        return f'exec: "{command}": exec format error', START_ERROR_CODE
    if "permission denied" in lowered and (command in text or "exec" in lowered):
        return f'exec: "{command}": permission denied', START_ERROR_CODE
    found = _RUNC_EXEC.search(text)
    if found:
        return f'exec: "{found.group(1)}": {found.group(2)}', START_ERROR_CODE
    return text, START_ERROR_CODE


def _not_found(command: str) -> str:
    if "/" in command:
        return f'exec: "{command}": stat {command}: no such file or directory'
    return f'exec: "{command}": executable file not found in $PATH'

"""The command of the DNS process, and its arguments."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from podling.network.dns.messages import Endpoint

MODULE = "podling.network.dns.server_process"
ABSENT = ("ssl", "_hashlib", "typing_extensions")
"""Modules that ``asyncio``, ``hmac`` and ``msgspec`` import where they exist, and do without where not.

The process needs none of them; they would cost two megabytes on each node.
"""
UNREACHED = ("ast", "calendar", "msgspec._json_schema", "msgspec.inspect", "platform", "subprocess")
"""Modules that others need for functions that the process never calls; they would cost another megabyte.

``inspect`` parses texts of signatures, ``dnslib`` those of zones, ``msgspec`` describes types, ``uuid`` looks
for the machine's addresses, and ``asyncio`` starts programs. Each name in their stand-ins is ``object``.
"""
_BEGIN = f"""\
import sys
class Unreached(type(sys)):
    def __getattr__(self, name):
        return object
sys.modules.update(dict.fromkeys({ABSENT!r}))
sys.modules.update((name, Unreached(name)) for name in {UNREACHED!r})
sys.path += sys.argv[2].split(':')
from {MODULE} import main
main(sys.argv[3])
"""


def command(interpreter: str, path: Iterable[str], launch: bytes) -> list[str]:
    """Return the command that starts the process; ``path`` is where Python finds modules."""
    return [interpreter, "-I", "-S", "-c", _BEGIN, MODULE, ":".join(filter(None, path)), launch.decode()]


class Launch(Struct, frozen=True):
    """The arguments of the process. ``descriptors`` are the sockets of ``endpoints``."""

    directory: str
    build: str
    domain: str
    networks: tuple[str, ...]
    """The ranges of pods' addresses, whose questions are answered."""
    endpoints: tuple[Endpoint, ...]
    descriptors: tuple[int, ...]
    resolv_conf: str = ""
    """The file with the node's own servers, until the settings name it."""

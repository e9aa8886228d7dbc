"""Termination messages: what a container leaves behind to say why it ended.

Of a message that is too long, a file gives its end; of what then is more than the container's part of the
pod's whole, the beginning is shown.

The message is read once, when the container is first seen to have ended, from the file that was mounted
at its ``terminationMessagePath``; under ``FallbackToLogsOnError`` the end of its log stands in when it
failed without writing one (``kuberuntime_container.go`` getTerminationMessage).
"""

from __future__ import annotations

from pathlib import Path

from podling.kubelet import labels
from podling.kubelet.blocking import blocking
from podling.runtime.base import Container, KeepsLogs, Runtime

MESSAGE_BYTES_MAX = 4096
LOG_BYTES_MAX = 2048
LOG_LINES_MAX = 80
POD_BYTES_MAX = 12 * 1024
"""All messages of one pod together; each container gets its even part."""


def log_tail(data: bytes) -> str:
    """The last lines of a log in CRI format, without times and streams, within both limits."""
    texts: list[bytes] = []
    for line in data.splitlines():
        parts = line.split(b" ", 3)
        if len(parts) == 4:
            texts.append(parts[3] + (b"\n" if parts[2].startswith(b"F") else b""))
    text = b"".join(texts)
    lines = text.splitlines(keepends=True)[-LOG_LINES_MAX:]
    return b"".join(lines)[-LOG_BYTES_MAX:].decode(errors="replace")


def joined(runtime_message: str, own: str) -> str:
    """What the runtime says, then what the container said."""
    return ": ".join(part for part in (runtime_message, own) if part)


async def termination_message(runtime: Runtime, container: Container, containers_in_pod: int = 1) -> str:
    """The message of a container that ended; empty if it left none."""
    path = container.annotations.get(labels.TERMINATION_MESSAGE_HOST_PATH)
    own = await blocking(_read_end, Path(path), MESSAGE_BYTES_MAX) if path else b""
    policy = container.annotations.get(labels.TERMINATION_MESSAGE_POLICY)
    text = own.decode(errors="replace")
    if not own and policy == "FallbackToLogsOnError" and container.exit_code:
        text = await _from_log(runtime, container)
    whole = joined(container.message, text).encode()
    return whole[: POD_BYTES_MAX // max(containers_in_pod, 1)].decode(errors="ignore")


async def _from_log(runtime: Runtime, container: Container) -> str:
    if isinstance(runtime, KeepsLogs):
        buffer = runtime.log(container.log_path)
        return log_tail(buffer.read()) if buffer is not None else ""
    if not container.log_path:
        return ""
    return log_tail(await blocking(_last_lines, Path(container.log_path)))


def _last_lines(path: Path) -> bytes:
    """Enough of a log's end to hold the tail with its prefixes."""
    data = _read_end(path, 16 * LOG_BYTES_MAX)
    return data if len(data) < 16 * LOG_BYTES_MAX else data.partition(b"\n")[2]


def _read_end(path: Path, limit: int) -> bytes:
    """The last bytes of a file; none if it cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - limit))
            return file.read(limit)
    except OSError:
        return b""

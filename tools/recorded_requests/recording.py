"""Recordings: the file format, its writer and its reader."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

ANSWERS, ABOUT = "answers.jsonl.gz", "recording.json"

Header = tuple[str, str]


@dataclass(frozen=True)
class Entry:
    """One request and its complete answer.

    Args:
        key: the request's name, the same in every recording of a scenario.
        status: 0 when the server closed the connection without an answer.
    """

    key: str
    method: str
    target: str
    request_headers: Sequence[Header] = ()
    request_body: bytes = b""
    status: int = 0
    reason: str = ""
    headers: Sequence[Header] = ()
    body: bytes = b""

    def header(self, name: str) -> str:
        """Return a header of the answer, empty if there is none."""
        return next((value for each, value in self.headers if each.lower() == name.lower()), "")

    def json(self) -> Any:
        """Return the decoded body, an empty dict if it is not JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return {}


@dataclass(frozen=True)
class About:
    """Facts about a recording that are not answers.

    Args:
        generated: texts of the run itself: the server's address and its data directory.
        covered: number of requests of each group of requests.
    """

    commit: str
    begun: datetime
    generated: Sequence[str] = ()
    covered: dict[str, int] = field(default_factory=dict)


class Writer:
    """Writes entries as they arrive, then the facts about a complete recording."""

    def __init__(self, directory: Path, lines: TextIO) -> None:
        self._directory, self._lines = directory, lines

    def write(self, entry: Entry) -> None:
        """Append one entry."""
        fields = [
            entry.key,
            entry.method,
            entry.target,
            list(entry.request_headers),
            _packed(entry.request_body),
            entry.status,
            entry.reason,
            list(entry.headers),
            _packed(entry.body),
        ]
        self._lines.write(json.dumps(fields, ensure_ascii=False) + "\n")

    def finish(self, about: About) -> None:
        """Write the facts about a complete recording; one without them is incomplete."""
        plain = {
            "commit": about.commit,
            "begun": about.begun.isoformat(),
            "generated": list(about.generated),
            "requests": sum(about.covered.values()),
            "covered": about.covered,
        }
        (self._directory / ABOUT).write_text(json.dumps(plain, indent=1) + "\n")


@contextmanager
def writing(directory: Path) -> Iterator[Writer]:
    """Begin a recording in a directory, which is created."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / ABOUT).unlink(missing_ok=True)
    with gzip.open(directory / ANSWERS, "wt", encoding="utf-8", compresslevel=3) as lines:
        yield Writer(directory, lines)


def read_about(directory: Path) -> About:
    """Read the facts about a recording.

    Raises:
        OSError: the recording is not there, or it is incomplete.
    """
    plain = json.loads((directory / ABOUT).read_text())
    return About(
        plain["commit"], datetime.fromisoformat(plain["begun"]), plain["generated"], plain["covered"]
    )


def read_entries(directory: Path) -> Iterator[Entry]:
    """Read the entries of a recording in the order of the requests."""
    with gzip.open(directory / ANSWERS, "rt", encoding="utf-8") as lines:
        for line in lines:
            key, method, target, sent, request, status, reason, headers, body = json.loads(line)
            yield Entry(
                key,
                method,
                target,
                [(name, value) for name, value in sent],
                _unpacked(request),
                status,
                reason,
                [(name, value) for name, value in headers],
                _unpacked(body),
            )


def _packed(body: bytes) -> str | dict[str, str]:
    """Return text as it is and anything else in base64."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}


def _unpacked(packed: str | dict[str, str]) -> bytes:
    return packed.encode() if isinstance(packed, str) else base64.b64decode(packed["base64"])

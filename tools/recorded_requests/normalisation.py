"""Takes what is time, random or generated out of an entry, so that the rest can be compared byte for byte.

Some generated values must be equal within a recording wherever the same thing is meant: a UID, a
resourceVersion, a token. They become numbered gaps whose values are compared apart (``comparison.Pairing``).
Times, ages and random addresses have no such rule.
"""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tools.recorded_requests import protobuf_text
from tools.recorded_requests.recording import About, Entry

PROTOBUF = "application/vnd.kubernetes.protobuf"

PAIRED = {
    "pem": r"-----BEGIN [A-Z ]+-----[^-]+-----END [A-Z ]+-----",
    "pem64": r"LS0tLS1CRUdJTi[A-Za-z0-9+/=]+",
    "token": r"eyJhbGci[\w-]+\.[\w-]+\.[\w-]+",
    "key": r"""(?<=:")(?:(?<="kid":")|(?<="x":")|(?<="y":"))[\w-]{40,}""",
    "hash": r"(?<=\?hash=)[0-9A-F]{64}|(?<=ETag: \")[0-9A-F]{128}",
    "fingerprint": r"(?<=X509SHA256=)[0-9a-f]{64}",
    "uid": r"\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b",
    "audit": r"(?<=audit-id: )[0-9a-f-]+",
    "revision": r"""(?=\d)(?:(?<=resourceVersion":")|(?<=resourceVersion": ")|(?<=resourceVersion: ")"""
    r"""|(?<=resourceVersion: ')|(?<=resourceVersion=)|(?<=resourceVersion\\":\\")|(?<="rv":))\d+""",
    "suffix": r"(?<=[-_])(?:(?<=\bgenerated-)|(?<=\bA_))[a-z0-9]{5}\b",
}
"""Generated values that stand for a thing; each pattern begins with what is cheap to refuse.

Hashes of OpenAPI documents are digests of source files."""
FREE = {
    "age": r"""(?<=")(?:\d+[smhd]){1,2}(?=",|"\])""",
    "address": r"\b10\.(?:9[6-9]|10\d|11[01])\.(?!0\.\d\b|0\.1[0-5]\b)\d{1,3}\.\d{1,3}\b",
    "nodeport": r"\b3[0-2]\d{3}\b(?<!30080)(?<!30001)",
}
"""Generated values that depend on time, or are drawn at random with few to choose from."""
TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(?:Z|[+-]\d\d:\d\d)")
PROTOBUF_TIME = re.compile(r"\{\n *1: (\d{10})(?:\n *2: \d+)?\n *\}")
PROTOBUF_NUMBER = r'(?<=: ")\d{1,7}(?="\n)'
CONTINUE = re.compile(r"eyJ2IjoibWV0YS5rOHMuaW8v[\w-]+={0,2}")
METRIC = re.compile(r"^([a-z_:][\w:]*)", re.MULTILINE)
EARLIER = timedelta(days=1)

_paired = "|".join(f"(?P<{name}>{pattern})" for name, pattern in PAIRED.items())
_free = "|".join(f"(?P<{name}>{pattern})" for name, pattern in FREE.items())
_JSON_VALUES = re.compile(f"{_paired}|{_free}")
_PROTOBUF_VALUES = re.compile(f"{_paired}|(?P<number>{PROTOBUF_NUMBER})|{_free}")


@dataclass(frozen=True)
class Normalised:
    """The text of a request with its answer, with gaps, and the paired values of these gaps in order."""

    text: str
    values: Sequence[tuple[str, str]]


def normalised(entry: Entry, about: About) -> Normalised:
    """Return the comparable form of an entry."""
    is_protobuf = False
    body = entry.body
    if entry.header("content-encoding") == "gzip":
        body = gzip.decompress(body)
    if entry.header("content-type").startswith(PROTOBUF):
        try:
            text, is_protobuf = protobuf_text.text_of(body), True
        except ValueError:
            text = repr(body)
    else:
        text = body.decode("utf-8", "backslashreplace")
    if _is_metrics(entry):
        text = "\n".join(sorted(set(METRIC.findall(text))))
    whole = "\n".join(
        [
            f"{entry.method} {entry.target}",
            *(f"{name}: {value}" for name, value in entry.request_headers),
            "",
            entry.request_body.decode("utf-8", "backslashreplace"),
            f"{entry.status} {entry.reason}",
            *_answer_headers(entry),
            "",
            text,
        ]
    )
    for each in about.generated:
        whole = whole.replace(each, "<generated>")
    whole = CONTINUE.sub(lambda found: _decoded(found[0]), whole)
    begun = about.begun - EARLIER
    whole = TIME.sub(lambda found: _time(found, begun), whole)
    if is_protobuf:
        whole = PROTOBUF_TIME.sub(lambda found: _protobuf_time(found, begun), whole)
    return _with_gaps(whole, _PROTOBUF_VALUES if is_protobuf else _JSON_VALUES)


def _is_metrics(entry: Entry) -> bool:
    return entry.target.startswith("/metrics")


def _answer_headers(entry: Entry) -> list[str]:
    lines = []
    for name, value in entry.headers:
        if name.lower() in ("date", "expires"):
            value = "<time>"
        elif name.lower() == "content-length" and (value == str(len(entry.body)) or _is_metrics(entry)):
            value = "<length>"
        lines.append(f"{name.lower() if name.lower() == 'audit-id' else name}: {value}")
    return lines


def _with_gaps(text: str, values: re.Pattern[str]) -> Normalised:
    paired: list[tuple[str, str]] = []

    def gap(found: re.Match[str]) -> str:
        kind = found.lastgroup or ""
        if kind not in FREE:
            paired.append((kind, found[0]))
        return f"<{kind}>"

    return Normalised(values.sub(gap, text), paired)


def _time(found: re.Match[str], begun: datetime) -> str:
    try:
        moment = datetime.fromisoformat(found[0])
    except ValueError:
        return found[0]
    if moment < begun:
        return found[0]
    return "<microtime>" if found[1] else "<time>"


def _protobuf_time(found: re.Match[str], begun: datetime) -> str:
    return "<time>" if int(found[1]) >= begun.timestamp() else found[0]


def _decoded(token: str) -> str:
    return base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode("utf-8", "backslashreplace")

"""The pages ``/flagz`` and ``/statusz`` of a component: their contents and forms. Pure.

A page is text, or an object of ``config.k8s.io`` for a client that names its kind and version in ``Accept``.
Upstream: ``apiserver/pkg/server/flagz`` and ``statusz``, which draw the delimiter of each text at random.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from podling.machinery import errors
from podling.machinery.encoding.accept_header import clauses

FLAGZ, STATUSZ = "/flagz", "/statusz"
GATES = {FLAGZ: "ComponentFlagz", STATUSZ: "ComponentStatusz"}
GO_VERSION = "go1.26"
GROUP = "config.k8s.io"
VERSIONS = ("v1beta1", "v1alpha1")
DEPRECATED = VERSIONS[1:]
JSON, YAML, TEXT = "application/json", "application/yaml", "text/plain"
FORMS = (JSON, YAML, TEXT)
NO_FORMAT = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees "
    "and is for debugging purposes only."
)
RESOURCES = frozenset({"api", "apis", "openid", "openapi", ".well-known"})
"""First parts of paths that are no help in debugging."""


class Page(Struct, frozen=True):
    """One page of one component.

    Attributes:
        path: ``/flagz`` or ``/statusz``.
        lines: what the text has below its heading.
        fields: what the object has beside its metadata.
    """

    path: str
    component: str
    lines: tuple[str, ...]
    fields: Mapping[str, Any]

    @property
    def text(self) -> str:
        heading = ("", f"{self.component} {self.path[1:]}", NO_FORMAT)
        return "".join(f"{line}\n" for line in (*heading, *self.lines))

    def document(self, version: str) -> dict[str, Any]:
        """Return the object, in a version of its group."""
        return {
            "kind": kind_of(self.path),
            "apiVersion": f"{GROUP}/{version}",
            "metadata": {"name": self.component},
            **self.fields,
        }

    def warning(self, version: str) -> str:
        """Return the warning for a version of the object; empty for one that is up to date."""
        if version not in DEPRECATED:
            return ""
        return f"This version of the {self.path[1:]} endpoint is deprecated. Please use a newer version."


def kind_of(path: str) -> str:
    return path[1:].capitalize()


def wanted(path: str, accept: str) -> tuple[str, str]:
    """Return media type and version of the page at ``path``; text has no version. Raises 406."""
    if not accept.strip():
        return TEXT, ""
    for media_type, asked in clauses(accept):
        for form in FORMS:
            if not _matches(media_type, form) or asked.get("stream") or asked.get("sv"):
                continue
            if form == TEXT and not asked.keys() & {"as", "g", "v"}:
                return TEXT, ""
            version, named = asked.get("v", ""), (asked.get("g"), asked.get("as"))
            if form != TEXT and version in VERSIONS and named == (GROUP, kind_of(path)):
                return form, version
    raise errors.not_acceptable(FORMS)


def _matches(asked: str, form: str) -> bool:
    return asked in (form, "*/*", f"{form.partition('/')[0]}/*")


def flagz(component: str, flags: Mapping[str, str]) -> Page:
    """Return the page of a component's flags and their values."""
    shown = dict(sorted(flags.items()))
    lines = tuple(f"{name}={value}" for name, value in shown.items())
    return Page(FLAGZ, component, lines, {"flags": shown} if shown else {})


def statusz(component: str, version: str, started: datetime, now: datetime, served: Iterable[str]) -> Page:
    """Return the page of a component's age and version, and of the paths that it serves."""
    seconds = max(0, int((now - started).total_seconds()))
    hours, minutes = seconds // 3600, seconds // 60 % 60
    binary = version.removeprefix("v")
    emulated = binary.rpartition(".")[0]
    paths = sorted(
        {f"/{first}" for path in served if (first := path.split("/")[1]) and first not in RESOURCES}
    )
    lines = (
        "",
        f"Started: {started:%a %b %e %H:%M:%S UTC %Y}",
        f"Up: {hours} hr {minutes:02} min {seconds % 60:02} sec",
        f"Go version: {GO_VERSION}",
        f"Binary version: {binary}",
        f"Emulation version: {emulated}",
        f"Paths: {' '.join(paths)}" if paths else "",
    )
    fields = {
        "startTime": f"{started:%Y-%m-%dT%H:%M:%SZ}",
        "uptimeSeconds": seconds,
        "goVersion": GO_VERSION,
        "binaryVersion": binary,
        "emulationVersion": emulated,
        "paths": paths,
    }
    return Page(STATUSZ, component, lines, fields)

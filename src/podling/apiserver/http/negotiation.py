"""Content negotiation: the form of an answer and its media type, selected by the ``Accept`` header. Pure.

An ``Accept`` header selects the object itself, a table of it (``as=Table``) or its metadata alone
(``as=PartialObjectMetadata`` and ``...List``), in either version of ``meta.k8s.io``, as JSON or YAML. Of the
clauses that can be served, the one with the highest quality wins; of equal ones the first.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from podling.machinery import errors
from podling.machinery.encoding.accept_header import clauses
from podling.machinery.encoding.custom import CustomResource
from podling.machinery.scheme import Resource
from podling.machinery.text_cache import cached_by_text

JSON = "application/json"
YAML = "application/yaml"
ACCEPTED = (JSON, YAML)
META_VERSIONS = ("v1", "v1beta1")
"""Of ``meta.k8s.io``: they differ in their names alone."""
WILDCARDS = ("*/*", "application/*", "")
MAX_WARNING_RUNES = 4096
TRUNCATED_WARNING_RUNES = 256


class Form(Enum):
    OBJECT = ""
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"
    METADATA_LIST = "PartialObjectMetadataList"


class Wanted(Struct, frozen=True):
    """Negotiated form of an answer."""

    form: Form = Form.OBJECT
    media_type: str = JSON
    version: str = META_VERSIONS[0]
    """Of a table or of metadata."""


PLAIN = Wanted()


@cached_by_text(256)
def negotiate(accept: str, *, tables: bool = True, streamed: bool = False) -> Wanted:
    """Return the served form that ``accept`` selects. Raises 406.

    ``streamed``: the answer is a watch, with JSON events in every form.
    """
    if not accept:
        return PLAIN
    for media_type, asked in clauses(accept):
        if media_type in WILDCARDS:
            media_type = JSON
        if media_type not in ACCEPTED or (streamed and media_type != JSON):
            continue
        form = _form(asked)
        if form is Form.OBJECT:
            return Wanted(media_type=media_type)
        if form is not None and (tables or form is not Form.TABLE):
            return Wanted(form, media_type, asked["v"])
    raise errors.not_acceptable((f"{JSON};stream=watch",) if streamed else ACCEPTED)


def media_type_of(accept: str) -> str:
    """Return the media type for an answer that has only one form. Raises 406."""
    if not accept:
        return JSON
    for media_type, asked in clauses(accept):
        if _form(asked) is Form.OBJECT and media_type in (*ACCEPTED, *WILDCARDS):
            return JSON if media_type in WILDCARDS else media_type
    raise errors.not_acceptable(ACCEPTED)


def check_form(wanted: Wanted, resource: Resource, *, listed: bool) -> None:
    """Raise 406 for ``PartialObjectMetadata`` of a list, or ``PartialObjectMetadataList`` of one object."""
    if wanted.form is (Form.METADATA if listed else Form.METADATA_LIST):
        custom = isinstance(resource, CustomResource)
        package = "unstructured" if custom else resource.group.partition(".")[0] or "core"
        kind = f"*{package}.{'Unstructured' if custom else resource.kind}"
        is_it = f"is a list ({kind}List)" if listed else f"is not a list ({kind})"
        raise errors.not_acceptable_form(wanted.form.value, is_it)


def _form(parameters: dict[str, str]) -> Form | None:
    """Return the form that a clause's parameters name; None for one that is not served."""
    name = parameters.get("as", "")
    if not parameters.keys() & {"as", "g", "v"}:
        return Form.OBJECT
    known = parameters.get("g") == "meta.k8s.io" and parameters.get("v") in META_VERSIONS
    return Form(name) if known and name and name in Form._value2member_map_ else None


def warning_headers(texts: list[str]) -> list[str]:
    """Return the values of the ``Warning`` headers for ``texts``: each once, escaped, bounded in all."""
    unique = list(dict.fromkeys(texts))
    if sum(len(text) for text in unique) > MAX_WARNING_RUNES:
        unique = [text[:TRUNCATED_WARNING_RUNES] for text in unique]
    headers, total = [], 0
    for text in unique:
        total += len(text)
        if total > MAX_WARNING_RUNES:
            break
        printable = "".join(char for char in text if char.isprintable())
        escaped = printable.replace("\\", "\\\\").replace('"', '\\"')
        headers.append(f'299 - "{escaped}"')
    return headers

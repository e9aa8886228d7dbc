"""A request's options: from the query (and a deletion's body) to checked, typed values. Pure.

The rules and messages are those of apimachinery ``pkg/apis/meta/v1/validation`` and
``pkg/apis/meta/internalversion/validation``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from podling.api.meta_v1 import DeleteOptions, Preconditions
from podling.client.base import PatchType
from podling.client.requests import ListOptions, WriteOptions
from podling.machinery import errors, fields
from podling.machinery.durations import seconds_of
from podling.machinery.fields import FieldError, Path
from podling.machinery.text_cache import cached_by_text

META_GROUP = "meta.k8s.io"
EXACT, NOT_OLDER = "Exact", "NotOlderThan"
FIELD_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
PROPAGATIONS = ("Orphan", "Background", "Foreground")
MAX_MANAGER_BYTES = 128
NOBODY = "unknown"
"""The field manager of who names none and sends no ``User-Agent``."""
MAX_INTEGER = 2**63 - 1
MAX_DIGITS = 40
"""Longer numbers are too large, unless they are written to annoy: those are not worth reading."""

_INTEGER = re.compile(r"[+-]?[0-9]+")

Query = Mapping[str, str]


def flag(query: Query, name: str) -> bool:
    """Return a boolean: present and neither ``0`` nor ``false``; without a value, too, it is true."""
    return name in query and query[name].lower() not in ("0", "false")


def number(query: Query, name: str) -> int | None:
    """Return an integer, or None if it is not given. Raises 400."""
    if name not in query:
        return None
    text = query[name]
    if not _INTEGER.fullmatch(text):
        raise errors.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    found = int(text) if len(text) <= MAX_DIGITS else MAX_INTEGER + 1
    if not -MAX_INTEGER - 1 <= found <= MAX_INTEGER:
        raise errors.bad_request(f'strconv.ParseInt: parsing "{text}": value out of range')
    return found


def time_limit(query: Query) -> float | None:
    """Return the seconds of ``timeout``; None if it is not given or 0. Raises 400 if it is no duration."""
    if text := query.get("timeout"):
        try:
            return max(seconds_of(text), 0) or None
        except ValueError as error:
            raise errors.bad_request(f"invalid timeout specified in the request URL - {error}") from None
    return None


def list_options(query: Query, *, watch: bool = False) -> ListOptions:
    """Options of list, watch and deletecollection. Raises 400 or 422."""
    send_initial = flag(query, "sendInitialEvents") if "sendInitialEvents" in query else None
    options = ListOptions(
        label_selector=query.get("labelSelector", ""),
        field_selector=query.get("fieldSelector", ""),
        resource_version=query.get("resourceVersion", ""),
        resource_version_match=query.get("resourceVersionMatch", ""),
        limit=max(number(query, "limit") or 0, 0),
        continue_token=query.get("continue", ""),
        timeout_seconds=number(query, "timeoutSeconds"),
        bookmarks=flag(query, "allowWatchBookmarks"),
        send_initial_events=send_initial,
    )
    found = _watch_errors(options) if watch else _list_errors(options)
    _refuse("ListOptions", found)
    return options


def is_watch_list(query: Query) -> bool:
    """Return true for a watch that begins with a list, whose end a bookmark shows: rows of tables cannot."""
    return flag(query, "sendInitialEvents") and flag(query, "allowWatchBookmarks")


def _list_errors(options: ListOptions) -> list[FieldError]:
    path, match, found = Path("resourceVersionMatch"), options.resource_version_match, []
    if match:
        if not options.resource_version:
            why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
            found.append(fields.forbidden(path, why))
        if options.continue_token:
            why = "resourceVersionMatch is forbidden when continue is provided"
            found.append(fields.forbidden(path, why))
        if match not in (EXACT, NOT_OLDER):
            found.append(fields.not_supported(path, match, (EXACT, NOT_OLDER, "")))
        if match == EXACT and options.resource_version == "0":
            why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            found.append(fields.forbidden(path, why))
    if options.send_initial_events is not None:
        why = "sendInitialEvents is forbidden for list"
        found.append(fields.forbidden(Path("sendInitialEvents"), why))
    return found


def _watch_errors(options: ListOptions) -> list[FieldError]:
    path, match, found = Path("resourceVersionMatch"), options.resource_version_match, []
    if options.send_initial_events is not None and match != NOT_OLDER:
        why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        found.append(fields.forbidden(path, why))
    if match:
        if options.send_initial_events is None:
            why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            found.append(fields.forbidden(path, why))
        if match != NOT_OLDER:
            found.append(fields.not_supported(path, match, (NOT_OLDER,)))
        if options.continue_token:
            why = "resourceVersionMatch is forbidden when continue is provided"
            found.append(fields.forbidden(path, why))
    return found


def write_options(
    query: Query, verb: str, patch_type: PatchType | None = None, agent: str = ""
) -> WriteOptions:
    """Options of create, update and patch. Raises 422.

    ``agent``: the ``User-Agent``, whose beginning is the field manager of writers that name none.
    """
    applies = patch_type is PatchType.APPLY
    if not query and not applies:
        return WriteOptions(field_manager=_agent_name(agent), manager_implied=True)
    manager, validation = query.get("fieldManager", ""), query.get("fieldValidation", "")
    dry_run, found = _dry_run(query), list[FieldError]()
    if applies and not manager:
        found.append(fields.required(Path("fieldManager"), "is required for apply patch"))
    if patch_type is not None and not applies and "force" in query:
        found.append(fields.forbidden(Path("force"), "may not be specified for non-apply patch"))
    found += _manager_errors(manager) + _dry_run_errors(dry_run)
    if validation not in FIELD_VALIDATIONS:
        found.append(fields.not_supported(Path("fieldValidation"), validation, FIELD_VALIDATIONS))
    _refuse(f"{verb.capitalize()}Options", found)
    return WriteOptions(
        bool(dry_run),
        manager or _agent_name(agent),
        validation or "Warn",
        flag(query, "force"),
        applies,
        manager_implied=not manager,
    )


def _manager_errors(manager: str) -> list[FieldError]:
    path, found = Path("fieldManager"), list[FieldError]()
    if len(manager.encode()) > MAX_MANAGER_BYTES:
        found.append(fields.too_long(path, MAX_MANAGER_BYTES))
    for position, character in enumerate(manager) if not manager.isprintable() else ():
        if not character.isprintable():
            at = len(manager[:position].encode())
            why = f"invalid character U+{ord(character):04X} (at position {at})"
            found.append(fields.invalid(path, manager, why))
    return found


@cached_by_text(256)
def _agent_name(agent: str) -> str:
    """``kubectl/v1.32.4 (linux/amd64) ...`` is ``kubectl``; who says nothing is ``unknown``."""
    name, taken = "", 0
    for character in agent.partition("/")[0]:
        if not character.isprintable():
            continue
        taken += len(character.encode(errors="replace"))
        if taken > MAX_MANAGER_BYTES:
            break
        name += character
    return name or NOBODY


def delete_options(query: Query, body: DeleteOptions | None) -> DeleteOptions:
    """Options of a deletion: its body if it has one, else the query. Raises 400 or 422."""
    options = body or DeleteOptions(
        grace_period_seconds=number(query, "gracePeriodSeconds"),
        orphan_dependents=flag(query, "orphanDependents") if "orphanDependents" in query else None,
        propagation_policy=query.get("propagationPolicy") or None,
        preconditions=_preconditions(query),
        dry_run=_dry_run(query),
    )
    found = _dry_run_errors(options.dry_run)
    path, policy = Path("propagationPolicy"), options.propagation_policy
    if policy and options.orphan_dependents is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        found.append(fields.invalid(path, policy, why))
    if policy and policy not in PROPAGATIONS:
        found.append(fields.not_supported(path, policy, ("Foreground", "Background", "Orphan", "nil")))
    _refuse("DeleteOptions", found)
    return options


def _preconditions(query: Query) -> Preconditions | None:
    uid, revision = query.get("preconditions.uid"), query.get("preconditions.resourceVersion")
    return Preconditions(uid=uid, resource_version=revision) if uid or revision else None


def _dry_run(query: Query) -> tuple[str, ...]:
    getall = getattr(query, "getall", None)
    return tuple(getall("dryRun", ()) if getall else [query["dryRun"]] if "dryRun" in query else ())


def _dry_run_errors(given: tuple[str, ...]) -> list[FieldError]:
    if set(given) <= {"All"}:
        return []
    return [fields.not_supported(Path("dryRun"), list(given), ("All",))]


def _refuse(kind: str, found: Sequence[FieldError]) -> None:
    if found:
        raise errors.invalid(kind, META_GROUP, "", found)

"""Lists: one consistent revision, in key order, in pages.

The continue token names the revision of the first page and the last key that was looked at, so later pages
show the same moment. When that moment's history is gone the answer is 410 with a token that goes on
from the same key in the present, which the client may use or not.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from podling import turns
from podling.api.meta_v1 import ListMeta, Status, StatusCause, StatusDetails
from podling.apiserver.registry.decoding import decode, in_turns
from podling.apiserver.registry.objects import viewed
from podling.apiserver.registry.selection import NAME, NAMESPACE, Selection
from podling.client.requests import ListOptions, Target
from podling.machinery import errors
from podling.machinery.encoding import jsonscan
from podling.store.base import Compacted, Entry, FutureRevision, Page, Store

PAGE_FACTOR = 4
"""With a selector, this many times the limit is read at once: some will not match."""

FEW_KEYS = 500
"""So many keys are listed without waiting for a turn."""

PAGE_MAX = 1024
"""While few match, more are read at once (as upstream's storage does), up to this number."""

_not_base64 = re.compile("[^A-Za-z0-9_-]").search

MAX_REVISION = 2**64 - 1
MAX_REVISION_DIGITS = 40

TOKEN_VERSION = "meta.k8s.io/v1"
TOO_OLD = "The resourceVersion for the provided list is too old."
CONTINUE_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new "
    "list without the continue parameter, or use the continue token in this response to retrieve the "
    "remainder of the results. Continuing with the provided token results in an inconsistent list - objects "
    "that were created, modified, or deleted between the time the first chunk was returned and now may show "
    "up in the list."
)


class _Token(Struct, frozen=True, kw_only=True):
    """Content of a continue token. Revision -1 continues at ``start`` with the current state."""

    v: str = ""
    rv: int = 0
    start: str = ""


class Selected(Struct, frozen=True):
    """The answer to a list, still as entries of the store."""

    entries: tuple[Entry, ...]
    revision: int
    continue_token: str = ""
    remaining: int | None = None

    @property
    def metadata(self) -> ListMeta:
        return ListMeta(
            resource_version=str(self.revision),
            continue_=self.continue_token,
            remaining_item_count=self.remaining,
        )


async def select(store: Store, target: Target, options: ListOptions, wanted: Selection) -> Selected:
    """Return the entries that a list shows. Raises 400 for a bad token, 410 for a moment that is gone."""
    prefix = _prefix(target, wanted)
    revision, after = _start(options, prefix)
    if (not options.limit or revision is not None) and store.count(prefix) > FEW_KEYS:
        await turns.take()
    try:
        if wanted.everything:
            page = await store.list(prefix, revision=revision, limit=options.limit, after=after)
            return _answer(page.entries, page, prefix, remaining=page.remaining)
        return await _search(store, target, options.limit, wanted, (prefix, revision, after))
    except FutureRevision as error:
        raise too_large_revision(error.revision, error.current) from None
    except Compacted:
        if not options.continue_token:
            raise errors.expired(TOO_OLD) from None
        raise _continue_expired(after.removeprefix(prefix)) from None


async def _search(
    store: Store, target: Target, limit: int, wanted: Selection, start: tuple[str, int | None, str]
) -> Selected:
    """Return a page of what matches: read on until it is full or nothing is left."""
    prefix, revision, after = start
    kind = target.resource.storage_resource.type
    if not limit:
        page = await store.list(prefix, revision=revision, after=after)
        await _prepare(page.entries, kind, wanted)
        matching: list[Entry] = []
        async for block in in_turns(page.entries):
            matching += (entry for entry in block if wanted.matches(_looked_at(entry, kind, wanted)))
        return Selected(tuple(matching), page.revision)
    found: list[Entry] = []
    at_once = limit * PAGE_FACTOR
    while True:
        page = await store.list(prefix, revision=revision, limit=at_once, after=after)
        revision, left = page.revision, page.remaining + len(page.entries)
        await _prepare(page.entries, kind, wanted)
        async for block in in_turns(page.entries, always=True):
            for entry in block:
                left -= 1
                if not wanted.matches(_looked_at(entry, kind, wanted)):
                    continue
                found.append(entry)
                if len(found) == limit:
                    return _answer(tuple(found), page, prefix, more=left > 0)
        if not left:
            return Selected(tuple(found), page.revision)
        after = page.entries[-1].key
        at_once = max(at_once, min(2 * at_once, PAGE_MAX))


async def _prepare(entries: Sequence[Entry], kind: type[Any], wanted: Selection) -> None:
    await decode(entries, kind)
    if wanted.view is not None:
        await wanted.view.prepare(entries)


def _looked_at(entry: Entry, kind: type[Any], wanted: Selection) -> Any:
    return viewed(entry, kind) if wanted.view is None else wanted.view.of(entry)


def _answer(
    entries: tuple[Entry, ...], page: Page, prefix: str, *, remaining: int | None = None, more: bool = False
) -> Selected:
    """Return one page. ``remaining`` is set only if it is exact, that is without selectors."""
    if not (remaining or more):
        return Selected(entries, page.revision)
    token = _encode(page.revision, entries[-1].key.removeprefix(prefix))
    return Selected(entries, page.revision, token, remaining)


def _prefix(target: Target, wanted: Selection) -> str:
    """Return the narrowest prefix that holds everything wanted."""
    resource = target.resource
    namespace = target.namespace or (wanted.exactly(NAMESPACE) if resource.namespaced else "")
    prefix = resource.namespace_prefix(namespace)
    name = wanted.exactly(NAME)
    return prefix + name if name and (namespace or not resource.namespaced) else prefix


def watch_prefix(target: Target, wanted: Selection) -> str:
    """Return the keys that a watch of ``target`` has to look at."""
    return _prefix(target, wanted)


def _start(options: ListOptions, prefix: str) -> tuple[int | None, str]:
    """Return the revision and the key that a list starts from; None for the present."""
    if options.continue_token:
        if options.resource_version not in ("", "0"):
            raise errors.bad_request(
                "specifying resource version is not allowed when using continue",
            )
        token = _decode(options.continue_token)
        return (None if token.rv < 0 else token.rv), prefix + token.start
    revision = parse_revision(options.resource_version)
    exact = options.resource_version_match == "Exact" or (
        options.limit > 0 and not options.resource_version_match and revision > 0
    )
    return (revision if exact else None), ""


def parse_revision(text: str) -> int:
    """Return a ``resourceVersion`` as a number; 0 when not given."""
    if not text:
        return 0
    if not text.isascii() or not text.isdigit():
        raise errors.bad_request(
            f'Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        )
    if len(text) > MAX_REVISION_DIGITS or int(text) > MAX_REVISION:
        raise errors.bad_request(
            f'Invalid value: "{text}": strconv.ParseUint: parsing "{text}": value out of range'
        )
    return int(text)


def _encode(revision: int, start: str) -> str:
    data = msgspec.json.encode(_Token(v=TOKEN_VERSION, rv=revision, start=start))
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> _Token:
    strange = _not_base64(text)
    if strange or len(text) % 4 == 1:
        at = strange.start() if strange else len(text) - 1
        raise _no_token(f": illegal base64 data at input byte {at}")
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    try:
        token = msgspec.json.decode(data, type=_Token)
    except ValueError as error:
        raise _no_token(f": {jsonscan.complaint(data.decode(errors='replace')) or error}") from None
    if token.v != TOKEN_VERSION:
        raise _no_token(f": server does not recognize this encoded version {token.v}")
    if not token.rv:
        raise _no_token(f": incorrect encoded start resourceVersion (version {TOKEN_VERSION})")
    if not token.start:
        raise _no_token(f": encoded start key empty (version {TOKEN_VERSION})")
    return token


def _no_token(why: str) -> errors.ApiError:
    return errors.bad_request(f"invalid continue token: continue key is not valid{why}")


def _continue_expired(start: str) -> errors.ApiError:
    metadata = ListMeta(continue_=_encode(-1, start))
    return errors.ApiError(
        Status(status="Failure", code=410, reason="Expired", message=CONTINUE_TOO_OLD, metadata=metadata)
    )


def too_large_revision(asked: int, current: int) -> errors.ApiError:
    """Return the 504 for a revision that does not exist yet; a client may retry."""
    message = "Too large resource version"
    details = StatusDetails(
        causes=(StatusCause(reason="ResourceVersionTooLarge", message=message),), retry_after_seconds=1
    )
    text = f"Timeout: {message}: {asked}, current: {current}"
    return errors.failure(504, "Timeout", text, details)


def check_not_older(asked: str, current: int) -> None:
    """504 when a reader wants to see at least a revision that has not happened."""
    if asked and parse_revision(asked) > current:
        raise too_large_revision(parse_revision(asked), current)

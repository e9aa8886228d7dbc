"""Pulls: what a registry holds under a name, and bringing one image here, both by skopeo.

A name is first resolved to digests (one small request), the platform is chosen here, and the copy is
made by digest: a tag that moves meanwhile cannot mix two images, and an image that is here already is
not fetched again. Credentials go through a file of their own that only the pull can see, and that is
gone when it ends.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import tempfile
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from podling.files.space import check_room
from podling.files.trees import tree_size
from podling.runtime.base import Credentials, ImageFailure, RuntimeFailure
from podling.runtime.images import image_documents
from podling.runtime.images.image_names import Reference
from podling.runtime.oci import commands

LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")
"""Registries that may use plain HTTP without configuration, as with other runtimes."""

RESOLVE_SECONDS = 120.0

PROGRESS_SECONDS = 300.0
"""Seconds without data after which a pull fails (containerd's ``image_pull_progress_timeout``)."""

ROOM_SECONDS = 0.5
"""Seconds between checks that a pull does not fill the file system."""

FAILURE_CHARACTERS_MAX = 2000
"""Bytes of a registry's error message that are passed on."""

T = TypeVar("T")

_DENIED = re.compile(r"unauthorized|authentication required|access to the resource is denied|denied:")
_MESSAGE = re.compile(r'level=(?:fatal|error) msg="((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """The image that a name refers to in its registry."""

    digest: str
    """Of what the name points to, an index or a manifest."""
    manifest_digest: str
    """Of the chosen platform's manifest."""
    config_digest: str
    """The image's id."""
    size: int = 0
    """Bytes to fetch, as the manifest says."""
    credentials: Credentials | None = field(default=None, repr=False)
    """Those that worked."""


async def resolve(
    reference: Reference, credentials: Sequence[Credentials], wanted: image_documents.Platform
) -> Remote:
    """Find the image that ``reference`` names for ``wanted``, trying each of ``credentials`` in turn.

    Without any, the machine's own are used (skopeo's and docker's usual files). Raises ``ImageFailure``.
    """
    failure: ImageFailure | None = None
    for login in credentials or (None,):
        try:
            return await _resolve(reference, login, wanted)
        except ImageFailure as error:
            failure = failure or error
            if not _DENIED.search(str(error)):
                raise
    assert failure is not None
    raise failure


async def _resolve(
    reference: Reference, login: Credentials | None, wanted: image_documents.Platform
) -> Remote:
    raw = await _inspect(reference, reference.full, login)
    digest = reference.digest or image_documents.digest(raw)
    manifest, manifest_digest = image_documents.decode_manifest(raw), digest
    for _ in range(image_documents.INDEX_DEPTH_MAX):
        if manifest.manifests is None:
            break
        chosen = image_documents.choose_platform(manifest.manifests, wanted)
        raw = await _inspect(reference, reference.at(chosen.digest), login)
        manifest, manifest_digest = image_documents.decode_manifest(raw), chosen.digest
    if manifest.config is None:
        raise ImageFailure(
            f'failed to pull image "{reference.full}": its manifest (schema 1) is of a kind long out of use'
        )
    if len(manifest.layers) > image_documents.LAYERS_MAX:
        raise ImageFailure(
            f'failed to pull image "{reference.full}": it has {len(manifest.layers)} layers, '
            f"and {image_documents.LAYERS_MAX} can be joined"
        )
    return Remote(
        digest=digest,
        manifest_digest=manifest_digest,
        config_digest=manifest.config.digest,
        size=sum(max(0, part.size) for part in (manifest.config, *manifest.layers)),
        credentials=login,
    )


async def _inspect(reference: Reference, name: str, login: Credentials | None) -> bytes:
    with _authorised(reference, login) as flags:
        insecure = ["--tls-verify=false"] if _is_local(reference) else []
        return await _skopeo(
            reference, ["inspect", "--raw", *flags, *insecure, f"docker://{name}"], RESOLVE_SECONDS
        )


async def fetch(reference: Reference, remote: Remote, directory: Path) -> None:
    """Copy the image into ``directory`` (skopeo's ``dir:`` layout). A cancelled call stops the copy.

    There is no deadline: a large image over a slow line may take long, as long as data arrive and the disk
    has space. Raises ``ImageFailure``.
    """
    source = f"docker://{reference.at(remote.manifest_digest)}"
    with _authorised(reference, remote.credentials, "--src-authfile") as flags:
        insecure = ["--src-tls-verify=false"] if _is_local(reference) else []
        arguments = ["copy", "--quiet", *flags, *insecure, source, f"dir:{directory}"]
        try:
            await asyncio.to_thread(check_room, directory, remote.size)
            copying = while_there_is_room(_skopeo(reference, arguments, None), directory)
            await while_it_grows(copying, directory)
        except Stalled:
            text = f"nothing has come for {PROGRESS_SECONDS:g} s: context canceled"
            raise ImageFailure(f'failed to pull and unpack image "{reference.full}": {text}') from None
        except OSError as error:
            text = f"its layers cannot be kept: {error.strerror}"
            raise ImageFailure(f'failed to pull and unpack image "{reference.full}": {text}') from None


async def while_there_is_room(work: Coroutine[Any, Any, T], directory: Path) -> T:
    """Await ``work`` as long as the file system of ``directory`` has space beside its reserve.

    A registry may send more than it announced. Raises ``OSError`` (``ENOSPC``) when the space is used up, and
    ends ``work``.
    """
    task = asyncio.ensure_future(work)
    try:
        while not task.done():
            await asyncio.wait([task], timeout=ROOM_SECONDS)
            if not task.done():
                await asyncio.to_thread(check_room, directory)
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


class Stalled(Exception):
    """Nothing has grown for so long that nothing more will."""


async def while_it_grows(work: Coroutine[Any, Any, T], directory: Path) -> T:
    """Await ``work`` as long as ``directory`` grows. Raises ``Stalled`` when it has not for a while: one
    registry that stopped talking must not hold up all other pulls for ever."""
    task = asyncio.ensure_future(work)
    size = -1
    try:
        while not task.done():
            await asyncio.wait([task], timeout=PROGRESS_SECONDS)
            before, size = size, await asyncio.to_thread(tree_size, directory)
            if size <= before and not task.done():
                raise Stalled
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def _skopeo(reference: Reference, arguments: Sequence[str], deadline: float | None) -> bytes:
    try:
        finished = await commands.run(["skopeo", *arguments], deadline=deadline, check=False)
    except RuntimeFailure as error:
        raise ImageFailure(f'failed to pull image "{reference.full}": {error}') from error
    if finished.code != 0:
        raise _failure(reference, finished.errors)
    return finished.raw


def _failure(reference: Reference, errors: str) -> ImageFailure:
    found = _MESSAGE.findall(errors)
    text = found[-1].replace('\\"', '"') if found else errors
    text = text[:FAILURE_CHARACTERS_MAX]
    return ImageFailure(f'failed to pull and unpack image "{reference.full}": {text}')


def _is_local(reference: Reference) -> bool:
    return re.sub(r":\d+$", "", reference.domain) in LOCAL_HOSTS


@contextmanager
def _authorised(
    reference: Reference, login: Credentials | None, flag: str = "--authfile"
) -> Iterator[list[str]]:
    """The flags that log in, with the file they name alive inside the context."""
    if login is None:
        yield []
        return
    with tempfile.TemporaryDirectory(prefix="podling-login-") as directory:
        path = Path(directory) / "auth.json"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump({"auths": {reference.domain: auth_entry(login)}}, file)
        yield [flag, str(path)]


def auth_entry(login: Credentials) -> dict[str, str]:
    """One registry's entry of a docker configuration file."""
    if login.identity_token:
        pair = f"{login.username or '<token>'}:"
        return {"auth": _base64(pair), "identitytoken": login.identity_token}
    return {"auth": _base64(f"{login.username}:{login.password}")}


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()

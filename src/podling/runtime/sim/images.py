"""The simulated registry and the node's image store.

Every image exists in the registry unless a scenario says otherwise, and is on the node once it was
pulled. Identities are hashes of names, so they are the same in every run.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from podling import clock
from podling.runtime.base import Credentials, Image, ImageFailure, NotFound
from podling.runtime.changes import Changes
from podling.runtime.images.image_names import image_id, parse
from podling.runtime.sim.script import ImageScript, Scenario


def _hash(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


class SimImages:
    """``ImageService`` over scripts."""

    def __init__(self, scenario: Scenario, changes: Changes | None = None) -> None:
        self._scenario = scenario
        self._changes = changes or Changes()
        self._here: dict[str, Image] = {}
        self._loaded: set[str] = set()
        self._failed: Counter[str] = Counter()

    async def image_status(self, name: str) -> Image | None:
        wanted = image_id(name)
        if wanted:
            return next((image for image in self._here.values() if image.id == wanted), None)
        full = parse(name).full
        script = self._scenario.image(full)
        if full not in self._here and script.present:
            self._here[full] = _image(full, script)
            self._changes.note()
        found = self._here.get(full)
        return replace(found, local=full in self._loaded) if found is not None else None

    async def pull(self, name: str, credentials: Sequence[Credentials] = (), *, platform: str = "") -> Image:
        full = parse(name).full
        script = self._scenario.image(full)
        await clock.sleep(script.pull_seconds)
        failures = self._failed[full]
        if failures < len(script.failures):
            self._failed[full] += 1
            raise ImageFailure(script.failures[failures].message, script.failures[failures].reason)
        if script.missing:
            raise ImageFailure(f'failed to pull and unpack image "{full}": {full}: not found')
        return self._add(full)

    async def load(self, archive: Path, names: Sequence[str] = ()) -> tuple[Image, ...]:
        """Takes in the names alone: nothing is read, because nothing runs. ``archive``'s stem names the
        image when ``names`` is empty."""
        loaded = [parse(name).full for name in names or (archive.stem.lower(),)]
        self._loaded.update(loaded)
        self._changes.note()
        return tuple(self._add(full) for full in loaded)

    async def list_images(self) -> tuple[Image, ...]:
        return tuple(self._here.values())

    async def remove_image(self, name: str) -> None:
        image = await self.image_status(name)
        if image is None:
            raise NotFound(f'image "{name}" not found')
        for full in [full for full, here in self._here.items() if here.id == image.id]:
            del self._here[full]
            self._loaded.discard(full)
        self._changes.note()

    def _add(self, full: str) -> Image:
        if full not in self._here:
            self._here[full] = _image(full, self._scenario.image(full))
            self._changes.note()
        return self._here[full]


def _image(full: str, script: ImageScript) -> Image:
    repository = full.split("@")[0] if "@" in full else full.rpartition(":")[0]
    digest = full.partition("@")[2] or _hash(full)
    return Image(
        id=_hash("config of " + full),
        tags=() if "@" in full else (full,),
        digests=(f"{repository}@{digest}",),
        size_bytes=script.size_bytes,
        user=script.user,
        stop_signal=script.stop_signal,
        volumes=script.volumes,
    )

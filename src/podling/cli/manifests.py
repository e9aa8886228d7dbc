"""Manifests for ``podling run``: reading them, and bringing the cluster to what they say.

An object that does not exist is created; one that does is patched with a strategic merge, which is
what ``kubectl apply`` does for a first apply. Everything is checked strictly: a field that Kubernetes
does not know is refused, never dropped.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct, structs

from podling.cli.common_options import Failure
from podling.client.base import Client, PatchType
from podling.machinery import scheme
from podling.machinery.encoding.bodies import Body
from podling.machinery.encoding.codec import convert
from podling.machinery.errors import ApiError, is_already_exists

Plain = dict[str, Any]


class Manifest(Struct, frozen=True):
    """One object as its author wrote it (``plain``) and as the API reads it (``obj``)."""

    plain: Plain
    obj: Any
    resource: scheme.Resource
    namespace: str | None

    @property
    def title(self) -> str:
        """The name that kubectl prints: ``pod/web``, ``deployment.apps/web``."""
        name = self.obj.metadata.name or f"{self.obj.metadata.generate_name}*"
        singular = self.resource.singular
        group = f".{self.resource.group}" if self.resource.group else ""
        return f"{singular}{group}/{name}"


def read(files: Sequence[str], namespace: str) -> list[Manifest]:
    """Every object in ``files`` (``-`` is standard input), in order. Raises ``Failure``."""
    manifests = []
    for file in files:
        for document in _documents(file):
            try:
                manifests.append(_manifest(document, namespace))
            except (ApiError, ValueError) as error:
                raise Failure(f"{file}: {error}") from error
    if not manifests:
        raise Failure("no objects in the given files")
    return manifests


def _documents(file: str) -> Iterator[Plain]:
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text()
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}") from error
    try:
        documents = list(yaml.load_all(text, Loader=yaml.CSafeLoader))
    except yaml.YAMLError as error:
        flat = " ".join(str(error).split())
        raise Failure(f"{file}: error parsing YAML: {flat}") from error
    for document in documents:
        if document is None:
            continue
        if not isinstance(document, dict):
            raise Failure(f"{file}: a manifest must be a mapping, found {type(document).__name__}")
        if str(document.get("kind", "")).endswith("List") and isinstance(document.get("items"), list):
            yield from document["items"]
        else:
            yield document


def _manifest(plain: Plain, namespace: str) -> Manifest:
    group, _, version = str(plain.get("apiVersion", "")).rpartition("/")
    kind = str(plain.get("kind", ""))
    resource = scheme.by_kind(group, version, kind)
    if resource is None:
        raise ValueError(f'no matches for kind "{kind}" in version "{plain.get("apiVersion", "")}"')
    obj, _ = convert(Body(plain, ()), resource.type, "Strict")
    own = (obj.metadata.namespace or namespace) if resource.namespaced else None
    obj = structs.replace(obj, metadata=structs.replace(obj.metadata, namespace=own))
    return Manifest(plain, obj, resource, own)


async def apply(client: Client, manifest: Manifest) -> tuple[Any, str]:
    """Bring one object about; returns it and ``created``, ``configured`` or ``unchanged``.

    Raises ``ApiError``.
    """
    try:
        return await client.create(manifest.obj, namespace=manifest.namespace), "created"
    except ApiError as error:
        if not is_already_exists(error):
            raise
    kind, name = manifest.resource.type, manifest.obj.metadata.name
    before = await client.get(kind, name, manifest.namespace)
    after = await client.patch(
        kind,
        name,
        manifest.plain,
        manifest.namespace,
        patch_type=PatchType.STRATEGIC,
        field_manager="podling-run",
    )
    same = before.metadata.resource_version == after.metadata.resource_version
    return after, "unchanged" if same else "configured"

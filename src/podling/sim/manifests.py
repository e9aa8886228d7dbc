"""The objects of scenarios: read from files or from the scenario itself, checked, and applied.

An object that does not exist is created; another one is patched with a strategic merge, as ``kubectl apply``
does at its first time. Unknown fields are errors.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import Struct, structs

from podling.client.base import Client, PatchType
from podling.machinery.encoding.bodies import Body
from podling.machinery.encoding.codec import convert
from podling.machinery.errors import ApiError, is_already_exists
from podling.machinery.resource import Resource
from podling.sim.added_kinds import Entries, is_added, kind_of
from podling.sim.scenario_parts import ManifestSource

DEFAULT_NAMESPACE = "default"
FIELD_MANAGER = "podling-sim"


class ManifestProblem(Exception):
    """An object that cannot be read. ``number`` is its place in its source."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__(text)
        self.number = number


class Manifest(Struct, frozen=True):
    """One object as its author wrote it (``plain``) and as the API reads it (``obj``)."""

    plain: dict[str, Any]
    obj: Any
    resource: Resource
    namespace: str | None


def manifests_of(source: ManifestSource, folder: Path, entries: Entries = ()) -> Sequence[Manifest]:
    """Return the objects of a source with their copies. Raises ``ManifestProblem``.

    Args:
        entries: the extensions whose kinds are known.
    """
    documents = _documents(folder / source.file) if source.file else list(source.objects)
    found = []
    for number, document in enumerate(documents):
        try:
            read = _manifest(document, entries)
            if source.copies == 1:
                found.append(read)
            else:
                found.extend(_copy(read, each) for each in range(1, source.copies + 1))
        except (ApiError, ValueError, msgspec.ValidationError) as error:
            raise ManifestProblem(number, str(error)) from None
    return found


async def apply(client: Client, manifest: Manifest) -> Any:
    """Bring an object about and return it. Raises ``ApiError`` or ``Unreachable``."""
    try:
        return await client.create(manifest.obj, namespace=manifest.namespace)
    except ApiError as error:
        if not is_already_exists(error):
            raise
    return await client.patch(
        manifest.resource.type,
        manifest.obj.metadata.name,
        manifest.plain,
        manifest.namespace,
        patch_type=PatchType.MERGE if is_added(manifest.resource) else PatchType.STRATEGIC,
        field_manager=FIELD_MANAGER,
    )


def _documents(path: Path) -> list[Any]:
    """Return the objects of a file; those of a List one by one. Raises ``ManifestProblem``."""
    try:
        documents = list(yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader))
    except OSError as error:
        raise ManifestProblem(0, f"{path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ManifestProblem(0, f"{path}: {' '.join(str(error).split())}") from None
    found: list[Any] = []
    for document in documents:
        items = document.get("items") if isinstance(document, dict) else None
        if isinstance(items, list) and str(document.get("kind", "")).endswith("List"):
            found.extend(items)
        elif document is not None:
            found.append(document)
    return found


def _manifest(plain: Any, entries: Entries) -> Manifest:
    if not isinstance(plain, dict):
        raise ValueError(f"an object must be a mapping, found {type(plain).__name__}")
    group, _, version = str(plain.get("apiVersion", "")).rpartition("/")
    kind = str(plain.get("kind", ""))
    resource = kind_of(entries, group, version, kind)
    if resource is None:
        raise ValueError(f'no matches for kind "{kind}" in version "{plain.get("apiVersion", "")}"')
    obj, _ = convert(Body(plain, ()), resource.type, "Strict")
    if not obj.metadata.name and not obj.metadata.generate_name:
        raise ValueError("metadata.name: Required value")
    namespace = (obj.metadata.namespace or DEFAULT_NAMESPACE) if resource.namespaced else None
    obj = structs.replace(obj, metadata=structs.replace(obj.metadata, namespace=namespace))
    return Manifest(plain, obj, resource, namespace)


def _copy(manifest: Manifest, number: int) -> Manifest:
    name = f"{manifest.obj.metadata.name}-{number}"
    plain = copy.deepcopy(manifest.plain)
    plain["metadata"]["name"] = name
    obj = structs.replace(manifest.obj, metadata=structs.replace(manifest.obj.metadata, name=name))
    return structs.replace(manifest, plain=plain, obj=obj)

"""Reads the kubelet's configuration: its file, and the drop-in directory that is merged into it.

Documents are decoded strictly: an unknown field and one that is there twice are refused. Drop-ins are the
files ``*.conf`` below the directory, in the order of their paths; each is a JSON merge patch of those before
(``mergeKubeletConfigurations`` in ``cmd/kubelet/app/server.go``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from podling.kubelet.configuration.mapping import settings_from
from podling.kubelet.configuration.refused import ConfigurationRefused
from podling.kubelet.configuration.types import API_VERSION, KIND, KubeletConfiguration
from podling.kubelet.configuration.validation import problems
from podling.machinery.encoding.bodies import YAML, read_body, summary
from podling.machinery.encoding.intake import convert
from podling.machinery.errors import ApiError, bad_request
from podling.machinery.patches.patch import merge_patch

EXTENSION = ".conf"


def load(file: Path | None, directory: Path | None) -> dict[str, Any]:
    """Return the fields of ``KubeletConfig`` that file and drop-ins set. Raises ``ConfigurationRefused``."""
    plain: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND}
    folder = Path("/")
    if file is not None:
        plain, folder = document(file), file.absolute().parent
    for path in _drop_ins(directory):
        plain = merge_patch(plain, document(path))
    return settings_of(plain, folder, str(file or directory or ""))


def settings_of(plain: dict[str, Any], folder: Path, source: str) -> dict[str, Any]:
    """Return the fields of ``KubeletConfig`` that a document sets. Raises ``ConfigurationRefused``."""
    try:
        found, _ = convert(plain, KubeletConfiguration, "Strict")
        invalid = problems(found)
    except (ApiError, ValueError) as error:
        raise ConfigurationRefused(
            f"failed to load kubelet config file, path: {source}, error: {error}"
        ) from error
    settings, unsupported = settings_from(found, folder)
    if invalid or unsupported:
        raise ConfigurationRefused(
            f"failed to validate kubelet configuration, path: {source}, error: "
            f"{_aggregate([*invalid, *unsupported])}"
        )
    return settings


def document(path: Path) -> dict[str, Any]:
    """Return the plain data of one file. Raises ``ConfigurationRefused``."""
    refused = f"failed to load kubelet config file, path: {path}, error: "
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigurationRefused(f"{refused}{error.strerror or error}") from error
    if not data.strip():
        raise ConfigurationRefused(f'kubelet config file "{path}" was empty')
    try:
        body = read_body(data, YAML)
        _check_kind(body.value, data)
        convert(body, KubeletConfiguration, "Strict")
    except ApiError as error:
        raise ConfigurationRefused(f"{refused}{error}") from error
    plain: dict[str, Any] = body.value
    return plain


def _check_kind(plain: Any, data: bytes) -> None:
    """Refuse a document that does not say what it is. Raises ``ApiError``."""
    for key, name in (("kind", "Kind"), ("apiVersion", "apiVersion")):
        if not isinstance(plain, dict) or not plain.get(key):
            raise bad_request(f"Object '{name}' is missing in '{summary(data)}'")


def _drop_ins(directory: Path | None) -> list[Path]:
    """Return the drop-ins in the order of their paths. Raises ``ConfigurationRefused``."""
    if directory is None:
        return []
    if not directory.is_dir():
        raise ConfigurationRefused(
            "failed to merge kubelet configs: failed to walk through kubelet dropin directory "
            f'"{directory}": no such directory'
        )
    return sorted(path for path in directory.rglob(f"*{EXTENSION}") if path.is_file())


def _aggregate(texts: list[str]) -> str:
    unique = list(dict.fromkeys(texts))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"

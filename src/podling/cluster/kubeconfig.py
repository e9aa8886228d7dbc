"""Putting a cluster's kubeconfig where the user wants it, beside the clusters that are there already."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from podling.apiserver.auth.kubeconfig import write_kubeconfig

LISTS = ("clusters", "contexts", "users")


class KubeconfigUnusable(Exception):
    """The file that was named exists and is not a kubeconfig."""


def check(path: Path) -> None:
    """Raise ``KubeconfigUnusable`` if ``merge_into`` cannot add to the file at ``path``."""
    _read(path)


def merge_into(path: Path, content: bytes) -> None:
    """Add the entries of ``content`` to the file at ``path`` and make its context the current one.

    Entries of the same name are replaced, all others stay. Raises ``KubeconfigUnusable``.
    """
    ours = yaml.load(content, Loader=yaml.CSafeLoader)
    write_kubeconfig(path, yaml.safe_dump(merged(_read(path), ours), sort_keys=False).encode())


def merged(theirs: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """``theirs`` with the entries of ``ours`` replaced or appended."""
    result = {**ours, **theirs, "current-context": ours["current-context"]}
    for key in LISTS:
        names = {entry["name"] for entry in ours[key]}
        kept = [entry for entry in theirs.get(key) or () if entry.get("name") not in names]
        result[key] = [*kept, *ours[key]]
    return result


def _read(path: Path) -> dict[str, Any]:
    try:
        document = yaml.safe_load(path.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, yaml.YAMLError) as error:
        raise KubeconfigUnusable(f"cannot add to {path}: {error}") from error
    if document is None:
        return {}
    if not isinstance(document, dict) or any(not isinstance(document.get(key) or [], list) for key in LISTS):
        raise KubeconfigUnusable(f"{path} is not a kubeconfig; name another file with --kubeconfig")
    return document

"""The source of a component's configuration: a file, or a section of the cluster's own."""

from __future__ import annotations

import os


def chosen_source(file: str | None, document: str | None, last: tuple[str, str]) -> tuple[str, str]:
    """Return file and section of this run, of which one is empty: what was given, else the last run's.

    A file takes the place of a section, and a section that of the last run's file.
    """
    if file:
        return os.path.abspath(os.path.expanduser(file)), ""
    if document:
        return "", document
    return (last[0] if file is None else ""), (last[1] if document is None else document)

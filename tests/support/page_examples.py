"""Code blocks of the pages on extending the project, applied to a copy of it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tests.support.pages import DOCS

ROOT = DOCS.parent
_BLOCK = re.compile(
    r"^(?:`(?P<path>[\w./-]+)`:\n\n)?```(?P<language>python|diff|toml)\n(?P<text>.*?)^```$", re.M | re.S
)


def copy_of_the_project(to: Path) -> None:
    for folder in ("src", "tests"):
        shutil.copytree(ROOT / folder, to / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", to)


def apply(page: str, root: Path, *, is_project: bool = False) -> list[Path]:
    """Write the files of ``page`` below ``root`` and make its changes; return the files.

    A block of Python below a path is a new file, and one of TOML, if the page ``is_project`` of its own. A
    block of diff changes the file of the last path; the lines that it keeps or removes must stand in the file
    once, one below the other.
    """
    path, written = root, []
    for block in _BLOCK.finditer((DOCS / page).read_text()):
        if block["language"] == "toml" and not is_project:
            continue
        path = root / block["path"] if block["path"] else path
        if block["language"] != "diff":
            assert not path.exists(), f"{path} exists already"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block["text"])
        else:
            path.write_text(_changed(path.read_text(), block["text"]))
        written.append(path)
    return written


def _changed(text: str, diff: str) -> str:
    lines = diff.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    assert text.count(before) == 1, before
    return text.replace(before, after)

"""Pages say which test shows which statement: all of them exist, and every row of coverage.md names one.

Only names are looked at; whether a test shows what its row says is for people to judge.
"""

from __future__ import annotations

import ast
import os
import re
from functools import cache
from pathlib import Path

import pytest

from tests.support.stories import STORIES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/coverage.md").read_text()
MANIFESTS = Path(os.environ.get("PODLING_SHARED", ROOT.parent / "shared")) / "manifests"
ROW = re.compile(r"^\| (\d+)\.(\d+) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", re.MULTILINE)
TEST = re.compile(r"`([\w/]+\.py)::([\w:]+)`")
STORY = re.compile(r"story `([\w-]+)`")


@cache
def names_in(path: Path) -> frozenset[str]:
    """Return the test functions of a file, those of classes as ``Class::test``."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            members = (item for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef))
            found |= {f"{node.name}::{item.name}" for item in members}
    return frozenset(name for name in found if name.rpartition("::")[2].startswith("test_"))


def file_of(short: str) -> Path:
    """``e2e/`` and ``contract/`` lie in ``tests/``, all others in ``tests/unit/``."""
    inner = "" if short.startswith(("e2e/", "contract/")) else "unit"
    return ROOT / "tests" / inner / short


@pytest.mark.parametrize("page", ["coverage.md", "operations.md", "security.md"])
def test_every_test_that_is_named_exists(page: str) -> None:
    named = TEST.findall((ROOT / "docs" / page).read_text())
    assert named
    missing = [
        f"{short}::{name}"
        for short, name in named
        if not file_of(short).exists() or name not in names_in(file_of(short))
    ]
    assert not missing


def test_every_story_that_is_named_is_played() -> None:
    named = STORY.findall(PAGE)
    assert named
    assert set(named) <= STORIES.keys()


def test_every_statement_has_a_number_and_a_test() -> None:
    rows = ROW.findall(PAGE)
    assert len(rows) == len(re.findall(r"^\| \d", PAGE, re.MULTILINE)), "a row that cannot be read"
    numbers = [(int(section), int(number)) for section, number, *_ in rows]
    assert numbers == sorted(set(numbers))
    bare = [f"{row[0]}.{row[1]}" for row in rows if not TEST.search(row[4])]
    assert not bare, "stories compare two runtimes: name a test that asserts the values"


def test_every_manifest_of_the_documents_is_named() -> None:
    if not MANIFESTS.is_dir():
        pytest.skip(f"{MANIFESTS} is not here")
    manifests = [path.name for path in MANIFESTS.iterdir() if path.suffix in (".yaml", ".json")]
    assert [name for name in manifests if f"`{name}`" not in PAGE] == []


def test_every_statement_about_security_names_its_tests() -> None:
    page = (ROOT / "docs" / "security.md").read_text()
    rows = [
        line for line in page.splitlines() if line.startswith("|") and not line.startswith(("|---", "| st"))
    ]
    assert rows
    assert [row for row in rows if not TEST.search(row.rpartition(" | ")[2])] == []

"""Pages of the project name what exists, and the code on those about extending it works as written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support.page_examples import apply, copy_of_the_project
from tests.support.pages import DOCS

ROOT = DOCS.parent


def test_readme_names_every_page() -> None:
    readme = (ROOT / "README.md").read_text()
    assert [path.name for path in DOCS.iterdir() if f"docs/{path.name}" not in readme] == []


def test_architecture_names_every_package_and_module() -> None:
    page = (DOCS / "architecture.md").read_text()
    map_of_layers = page.split("```")[1]
    parts = [path for path in (ROOT / "src" / "podling").iterdir() if not path.name.startswith(("__", "py."))]
    names = [path.stem for path in parts]
    assert names
    assert [name for name in names if name not in map_of_layers.replace(",", " ").split()] == []


def test_glossary_names_what_the_source_defines() -> None:
    source = "\n".join(path.read_text() for path in (ROOT / "src" / "podling").rglob("*.py"))
    defined = set(re.findall(r"^(?:class|def|async def) (\w+)", source, re.MULTILINE))
    rows = re.findall(r"^\| (`[^|]+) \|", (DOCS / "glossary.md").read_text(), re.MULTILINE)
    ours = {name for row in rows for name in re.findall(r"`(\w+)`", row)} - {"admission", "scheduler"}
    assert len(ours) > len(rows) / 2
    assert ours - defined == set()


EXAMPLES = (
    "adding-a-kind.md",
    "adding-a-scheduler-plugin.md",
    "adding-an-admission-plugin.md",
    "adding-a-controller.md",
)


FIRST_PARTY = 'lint.isort.known-first-party = ["podling", "podling_websites"]'


def test_examples_of_the_pages_work(tmp_path: Path) -> None:
    copy_of_the_project(tmp_path)
    files = [path for page in EXAMPLES for path in apply(page, tmp_path)]
    tests = [path for path in files if path.name.startswith("test_")]
    assert len(tests) >= len(EXAMPLES)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    code = [path for path in files if path.suffix == ".py"]
    commands = (
        ("ruff", "format", "--check", *code),
        ("ruff", "check", "--no-cache", *code),
        ("pytest", "-q", "-p", "no:cacheprovider", *tests),
    )
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-m", *map(str, command)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_extension_of_the_page_can_be_installed_and_works(tmp_path: Path) -> None:
    files = apply("extending.md", tmp_path / "project", is_project=True)
    code = [path for path in files if path.suffix == ".py"]
    site = tmp_path / "site"
    environment = {**os.environ, "PYTHONPATH": f"{site}:{ROOT / 'src'}", "PYTHONDONTWRITEBYTECODE": "1"}
    settings = ("--config", str(ROOT / "pyproject.toml"))
    offline = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    commands = (
        ("ruff", "format", "--check", *settings, *code),
        ("ruff", "check", "--no-cache", *settings, "--config", FIRST_PARTY, *code),
        ("pip", "install", *offline, "--target", site, tmp_path / "project"),
        ("pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path / "project" / "tests"),
    )
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-m", *map(str, command)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

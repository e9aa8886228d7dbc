"""Plain words and clear packages, counted by ``tools.style``: bounds that may only become stricter."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tools.style.__main__ import ROOT, SOURCE, findings, module_imports, unmirrored
from tools.style.structure import cycles, widest_folder
from tools.style.words import Finding

FOLDER_MODULES_MAX = 40
IMPORT_CONTRACTS_MIN = 8
MIRRORED_SHARE_MIN = 0.85


@pytest.fixture(scope="module")
def found() -> dict[str, list[tuple[Path, Finding]]]:
    return findings()


@pytest.mark.parametrize("kind", ["relative clauses", "banned words", "test names"])
def test_text_is_in_plain_words(kind: str, found: dict[str, list[tuple[Path, Finding]]]) -> None:
    places = [
        f"{path.relative_to(ROOT)}:{each.line}: {each.text} ({each.advice})" for path, each in found[kind]
    ]
    assert not places, "\n".join(places)


def test_folders_hold_few_modules() -> None:
    count, folder = widest_folder(SOURCE.rglob("*.py"))
    assert count <= FOLDER_MODULES_MAX, f"split {folder} into packages"


def test_modules_import_no_other_in_a_cycle() -> None:
    assert cycles(module_imports()) == []


def test_import_contracts_hold_the_layers() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert len(contracts) >= IMPORT_CONTRACTS_MIN


def test_test_files_mirror_the_modules_with_logic() -> None:
    missing, logic = unmirrored()
    assert len(missing) <= (1 - MIRRORED_SHARE_MIN) * logic, f"no test file of their name: {missing}"

"""Print the counts of the project's style. Arguments: path prefixes; with any, each finding is listed."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

from tools.style.structure import cycles, has_logic, imports_of, test_file_of, widest_folder
from tools.style.words import (
    Finding,
    banned_in_module,
    banned_in_page,
    docstrings,
    relative_clauses,
    unclear_test_names,
)

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
GENERATED = re.compile(r"_v\d+((alpha|beta)\d+)?\.py$")
WRITTEN = ("src", "tests", "tools", "bench", "examples")


def python_files() -> list[Path]:
    """Return every Python file of the project that is not generated."""
    found = [path for folder in WRITTEN for path in sorted((ROOT / folder).rglob("*.py"))]
    return [path for path in found if not GENERATED.search(path.name)]


def pages() -> list[Path]:
    """Return the project's pages of prose."""
    return [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]


def findings() -> dict[str, list[tuple[Path, Finding]]]:
    """Return the findings about words, by kind."""
    kinds: dict[str, list[tuple[Path, Finding]]] = {
        "relative clauses": [],
        "banned words": [],
        "test names": [],
    }
    for path in python_files():
        source = path.read_text()
        kinds["relative clauses"] += [(path, each) for each in relative_clauses(source)]
        if path.is_relative_to(ROOT / "tools" / "style"):
            continue
        kinds["banned words"] += [(path, each) for each in banned_in_module(source)]
        if path.is_relative_to(ROOT / "tests"):
            kinds["test names"] += [(path, each) for each in unclear_test_names(source)]
    for path in pages():
        kinds["banned words"] += [(path, each) for each in banned_in_page(path.read_text())]
    return kinds


def module_imports() -> dict[str, set[str]]:
    """Return the imports of every module of the source, by dotted names."""
    files = {_dotted(path): path for path in SOURCE.rglob("*.py")}
    modules = frozenset(files)
    return {name: imports_of(path.read_text(), modules) for name, path in files.items()}


def _dotted(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def unmirrored() -> tuple[list[Path], int]:
    """Return the modules with logic that no test file mirrors, and the number of all modules with logic."""
    logic = [
        _in_tests(path)
        for path in python_files()
        if path.is_relative_to(SOURCE) and has_logic(path.read_text())
    ]
    return [path for path in logic if not (ROOT / "tests/unit" / test_file_of(path)).exists()], len(logic)


def _in_tests(path: Path) -> Path:
    """Return the place of a module's tests: those of an extension are in a folder of their own."""
    package, *rest = path.relative_to(SOURCE).parts
    return Path(package.removeprefix("podling").removeprefix("_"), *rest)


def main(prefixes: list[str]) -> None:
    found = findings()
    total = sum(len(list(docstrings(ast.parse(path.read_text())))) for path in python_files())
    print(f"docstrings: {total}")
    for kind, places in found.items():
        print(f"{kind}: {len(places)}")
        for path, each in places:
            name = path.relative_to(ROOT).as_posix()
            if any(name.startswith(prefix) for prefix in prefixes):
                print(f"  {name}:{each.line}: {each.text}  [{each.advice}]")
    count, folder = widest_folder(SOURCE.rglob("*.py"))
    print(f"widest folder: {count} ({folder.relative_to(ROOT)})")
    print(f"import cycles: {len(cycles(module_imports()))}")
    missing, logic = unmirrored()
    print(
        f"modules with logic: {logic}, mirrored by a test file: {100 * (logic - len(missing)) / logic:.0f} %"
    )
    for path in missing:
        if any(f"src/podling/{path.as_posix()}".startswith(prefix) for prefix in prefixes):
            print(f"  {path.as_posix()} wants tests/unit/{test_file_of(path).as_posix()}")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Known bugs as patches of the package, and programs that run with one of them.

``tests/planted_bugs`` has a unified diff for each bug. ``plant`` makes this process import the patched
modules in place of the package's own; so it is called before anything of Podling is imported:

    python -m tests.support.planted_bugs NAME sim SCENARIO.yaml --seeds 1..1000
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "planted_bugs"
SOURCES = ROOT / "src"
NAMES = sorted(path.stem for path in FOLDER.glob("*.diff"))
_FILE = re.compile(r"\+\+\+ b/(.+)")


class PatchFails(Exception):
    """A diff that does not fit the file that it is for."""


class Hunk(NamedTuple):
    """Lines to be replaced, with those around them, and the lines in their place."""

    file: str
    before: str
    after: str


def hunks_of(diff: str) -> Iterator[Hunk]:
    """Yield the parts of a unified diff."""
    file, before, after = "", "", ""
    for line in diff.splitlines(keepends=True):
        if line.startswith(("--- ", "+++ ", "@@")):
            if before or after:
                yield Hunk(file, before, after)
            before = after = ""
            found = _FILE.match(line)
            file = found[1].strip() if found is not None else file
        elif line[0] == "-":
            before += line[1:]
        elif line[0] == "+":
            after += line[1:]
        else:
            before += line[1:]
            after += line[1:]
    if before or after:
        yield Hunk(file, before, after)


def patched(diff: str) -> Mapping[str, str]:
    """Return the new contents of each file of a diff by its path. Raises ``PatchFails``.

    The lines that a part replaces are looked for in the whole file, where they must occur once: a change
    elsewhere in the file does no harm.
    """
    found: dict[str, str] = {}
    for hunk in hunks_of(diff):
        text = found.get(hunk.file) or (ROOT / hunk.file).read_text()
        if text.count(hunk.before) != 1:
            raise PatchFails(f"{hunk.file} has these lines {text.count(hunk.before)} times:\n{hunk.before}")
        found[hunk.file] = text.replace(hunk.before, hunk.after)
    return found


class _Loader(SourceFileLoader):
    """Loads a module from other source text than its file's."""

    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self._text = text

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._text, self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    """Finds the patched modules before the package's own."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._texts = {_module(path): (str(ROOT / path), text) for path, text in files.items()}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._texts:
            return None
        file, text = self._texts[fullname]
        return spec_from_file_location(fullname, file, loader=_Loader(fullname, file, text))


def plant(name: str) -> None:
    """Make this process import the changed modules. Raises ``RuntimeError`` if it is too late."""
    files = patched((FOLDER / f"{name}.diff").read_text())
    late = [_module(path) for path in files if _module(path) in sys.modules]
    if late:
        raise RuntimeError(f"imported already: {', '.join(late)}")
    sys.meta_path.insert(0, _Finder(files))


def _module(path: str) -> str:
    return path.removeprefix("src/").removesuffix(".py").replace("/", ".")


if __name__ == "__main__":
    plant(sys.argv[1])
    from podling.cli.main import main

    main(args=sys.argv[2:], prog_name="podling")

"""Pages of the project name what there is: README every page, the map of the architecture every package."""

from __future__ import annotations

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

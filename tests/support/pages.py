"""Pages of ``docs`` whose commands are run: sections and the shell commands in them."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands_of(page: str) -> dict[str, str]:
    """Return the shell commands of each section of a page that has any, by the section's title.

    Those before the first section belong to ``""``. The blocks of a section are one script.
    """
    preamble, *parts = _SECTION.split((DOCS / page).read_text())
    found = {"": preamble} | dict(zip(parts[::2], parts[1::2], strict=True))
    scripts = {title: "\n".join(_COMMANDS.findall(text)) for title, text in found.items()}
    return {title: script for title, script in scripts.items() if script}

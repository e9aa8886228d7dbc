"""Patterns of users, in schemas and in expressions: RE2, as in Go, so that none can take for ever. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podling.machinery.text_cache import cached_by_text

if TYPE_CHECKING:
    import re2

_WORDS = {
    "bad repetition operator": "invalid nested repetition operator",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "trailing \\": "trailing backslash at end of expression",
}
"""Go's messages for the same errors in a pattern."""


@cached_by_text(1024)
def pattern(text: str) -> re2._Regexp:
    """Return a compiled pattern. Raises ``ValueError`` in Go's words."""
    import re2  # with the first pattern

    quiet = re2.Options()
    quiet.log_errors = False  # only the author of the pattern gets the error
    try:
        return re2.compile(text, quiet)
    except re2.error as error:
        shown = error.args[0]
        said = shown.decode(errors="replace") if isinstance(shown, bytes) else str(shown)
        word, _, rest = said.partition(": ")
        raise ValueError(f"error parsing regexp: {_WORDS.get(word, word)}: `{rest}`") from None

"""Rewriting the links of an HTML document as it comes. Pure: pieces in and pieces out.

Start tags are written anew, as Go's tokenizer writes them; everything else passes through unchanged. No more
is held than an unfinished tag; a longer one than 64 kB ends all rewriting. The text is taken to be UTF-8.

Sources: ``apimachinery/pkg/util/proxy/transport.go``, ``golang.org/x/net/html`` (``token.go``).
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from functools import cache
from html.entities import html5
from typing import Final

from msgspec import Struct

LINKS: Final = {
    "a": ("href",),
    "applet": ("codebase",),
    "area": ("href",),
    "audio": ("src",),
    "base": ("href",),
    "blockquote": ("cite",),
    "body": ("background",),
    "button": ("formaction",),
    "command": ("icon",),
    "del": ("cite",),
    "embed": ("src",),
    "form": ("action",),
    "frame": ("longdesc", "src"),
    "head": ("profile",),
    "html": ("manifest",),
    "iframe": ("longdesc", "src"),
    "img": ("longdesc", "src", "usemap"),
    "input": ("src", "usemap", "formaction"),
    "ins": ("cite",),
    "link": ("href",),
    "object": ("classid", "codebase", "data", "usemap"),
    "q": ("cite",),
    "script": ("src",),
    "source": ("src",),
    "video": ("poster", "src"),
}
"""The attributes of each element that hold a URL."""
RAW_TEXT: Final = frozenset(
    ("iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp", "plaintext")
)
"""Elements whose content has no tags in it."""
HELD_MAX: Final = 64 * 1024

_WS = " \n\r\t\f"
_NAME = re.compile(rf"[^{_WS}/>]*")
_ATTRIBUTE = re.compile(
    rf"""[{_WS}/]*(=?[^{_WS}/>=]*)(?:[{_WS}]*=[{_WS}]*(?:"([^"]*)"|'([^']*)'|([^{_WS}>]*)))?"""
)
_ENTITY = re.compile(r"&(?:#([0-9]+)|#[xX]([0-9a-fA-F]+)|([A-Za-z][A-Za-z0-9]*));?")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;", "\r": "&#13;"})
_KEY_END, _VALUE_START, _UNQUOTED_END = re.compile("[=>]"), re.compile(f"[^{_WS}]"), re.compile(f"[{_WS}>]")


class _End(Struct, frozen=True):
    """The end of untouched text: ``pattern``, and the length of an incomplete match that is waited for."""

    pattern: re.Pattern[str]
    length: int


COMMENT_END: Final = _End(re.compile("--!?>"), 3)
DECLARATION_END: Final = _End(re.compile(">"), 0)


@cache
def _end_of(element: str) -> _End:
    """Return the end of an element's raw text, before its end tag; of ``plaintext`` there is none."""
    if element == "plaintext":
        return _End(re.compile("(?!)"), 0)
    return _End(re.compile(rf"(?=</{element}[{_WS}/>])", re.IGNORECASE), len(element) + 2)


class HtmlRewriter:
    """One document. ``rewrite`` gets the value of each attribute that holds a URL and returns the new one."""

    def __init__(self, rewrite: Callable[[str], str]) -> None:
        self._rewrite = rewrite
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._held = ""
        self._untouched: _End | None = None
        """The end of what has no tags in it: of a comment, a declaration, or the content of an element."""
        self._tag = _TagEnd()
        self._given_up = False

    def feed(self, data: bytes, *, last: bool = False) -> bytes:
        """Return what is certain of the document so far; with ``last``, all of it."""
        self._held += self._decoder.decode(data, last)
        made: list[str] = []
        while self._held and self._step(made):
            pass
        if last or self._given_up or len(self._held) > HELD_MAX:
            self._given_up = self._given_up or len(self._held) > HELD_MAX
            made.append(self._held)
            self._held = ""
        return "".join(made).encode(errors="surrogateescape")

    def _step(self, made: list[str]) -> bool:
        """Take one piece of the document; False when more must come before it is certain."""
        if self._given_up:
            return False
        if self._untouched is not None:
            return self._take_untouched(made, self._untouched)
        start = self._held.find("<")
        if start:
            made.append(self._take(start if start > 0 else len(self._held)))
            return True
        if self._held in ("<", "<!", "<!-", "</"):
            return False
        following = self._held[1]
        if following.isascii() and following.isalpha():
            return self._take_tag(made, start_tag=True)
        if following == "/" and self._held[2:3].isascii() and self._held[2].isalpha():
            return self._take_tag(made, start_tag=False)
        if following in "!?/":
            self._untouched = COMMENT_END if self._held.startswith("<!--") else DECLARATION_END
            made.append(self._take(2))
        else:
            made.append(self._take(1))
        return True

    def _take(self, length: int) -> str:
        taken, self._held = self._held[:length], self._held[length:]
        return taken

    def _take_untouched(self, made: list[str], end: _End) -> bool:
        """Take text up to its end, or as much as cannot be a part of the end."""
        found = end.pattern.search(self._held)
        if found:
            self._untouched = None
        made.append(self._take(found.end() if found else max(0, len(self._held) - end.length)))
        return found is not None

    def _take_tag(self, made: list[str], *, start_tag: bool) -> bool:
        end = self._tag.find(self._held)
        if end < 0:
            return False
        tag = self._take(end)
        made.append(self._written(tag) if start_tag else tag)
        return True

    def _written(self, tag: str) -> str:
        found = _NAME.match(tag, 1)
        assert found is not None
        name = _lower(found[0])
        if name in RAW_TEXT:
            self._untouched = _end_of(name)
        holds_url = LINKS.get(name, ())
        parts = [f"<{name}"]
        for key, value in _attributes(tag[found.end() : -1]):
            if key in holds_url:
                value = self._rewrite(value)
            parts.append(f' {key}="{value.translate(_ESCAPES)}"')
        return "".join(parts) + ("/>" if tag.endswith("/>") else ">")


class _TagEnd:
    """Finds the end of a tag that comes in pieces, and looks at each character once."""

    def __init__(self) -> None:
        self._place, self._state, self._key = 1, "key", False

    def find(self, text: str) -> int:
        """Return the place after the tag's ``>``; -1 while it is not there."""
        while self._place < len(text):
            if self._state == "key":
                found = _KEY_END.search(text, self._place)
                between = text[self._place : found.start() if found else len(text)]
                self._key = self._key or bool(between.strip(_WS + "/"))
                self._place += len(between)
                if found is None:
                    return -1
                self._place += 1
                if found[0] == ">":
                    end, self._place, self._key = self._place, 1, False
                    return end
                self._state, self._key = ("value", self._key) if self._key else ("key", True)
                continue
            self._skip_value(text)
        return -1

    def _skip_value(self, text: str) -> None:
        """Move on in a value or before it."""
        if self._state == "value":
            found = _VALUE_START.search(text, self._place)
            self._place = found.start() if found else len(text)
            if found is None:
                return
            self._state = found[0] if found[0] in "\"'" else "unquoted"
            self._place += found[0] in "\"'"
        elif self._state == "unquoted":
            found = _UNQUOTED_END.search(text, self._place)
            self._place = found.start() if found else len(text)
            self._end_value(ended=found is not None)
        else:
            place = text.find(self._state, self._place)
            self._place = place + 1 if place >= 0 else len(text)
            self._end_value(ended=place >= 0)

    def _end_value(self, *, ended: bool) -> None:
        if ended:
            self._state, self._key = "key", False


def _attributes(text: str) -> list[tuple[str, str]]:
    """Return the attributes in the rest of a tag, decoded."""
    found, place = [], 0
    while place < len(text):
        match = _ATTRIBUTE.match(text, place)
        assert match is not None
        if match.end() == place:
            break
        place = match.end()
        if match[1]:
            value = next((part for part in match.groups()[1:] if part is not None), "")
            found.append((_lower(match[1]), _unescaped(value)))
    return found


def _lower(text: str) -> str:
    """ASCII letters in lower case."""
    return "".join(char.lower() if char.isascii() else char for char in text)


def _unescaped(text: str) -> str:
    """Return an attribute's value with its character references replaced."""
    return _ENTITY.sub(lambda found: _character(found, text), text) if "&" in text else text


def _character(found: re.Match[str], text: str) -> str:
    whole = found[0]
    if found[3] is None:
        from html import unescape

        return unescape(whole)
    if whole.endswith(";"):
        return html5.get(whole[1:], whole)
    follows = text[found.end() : found.end() + 1]
    return whole if follows == "=" else html5.get(whole[1:], whole)

"""Rewriting of HTML in chunks: tags, other text, and the part that is held back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.apiserver.proxy.html_rewriting import HELD_MAX, LINKS, HtmlRewriter


def rewritten(document: bytes, cuts: list[int] | None = None) -> bytes:
    rewriter, made, last = HtmlRewriter(lambda link: f"[{link}]"), b"", 0
    for cut in sorted(cuts or []):
        made += rewriter.feed(document[last:cut])
        last = max(cut, last)
    return made + rewriter.feed(document[last:], last=True)


@pytest.mark.parametrize(
    ("document", "wanted"),
    [
        ("<A HREF=/x>", '<a href="[/x]">'),
        ("<a href=/x/>", '<a href="[/x/]"/>'),
        ("<a href='/x' title=\"it's\">", '<a href="[/x]" title="it&#39;s">'),
        ("<a\n href = '/x'>", '<a href="[/x]">'),
        ("<a download href>", '<a download="" href="[]">'),
        ('<a href="/x>y">', '<a href="[/x&gt;y]">'),
        ('<a href="?a=1&copy=2&amp;b&lt;">', '<a href="[?a=1&amp;copy=2&amp;b&lt;]">'),
        ('<a href="&#47;x&#x2f;y">', '<a href="[/x/y]">'),
        ("<br/>", "<br/>"),
        ("<p/class=a>", '<p class="a">'),
        ("</a href=/x>", "</a href=/x>"),
        ("a < b <3 &amp; <", "a < b <3 &amp; <"),
        ("<!-- <a href=/x> --><a href=/y>", '<!-- <a href=/x> --><a href="[/y]">'),
        ("<!--><a href=/y>", '<!--><a href="[/y]">'),
        ("<!doctype html><?x <a href=/x>", "<!doctype html><?x <a href=/x>"),
        ("<script>'<a href=/x>'</script><a href=/y>", "<script>'<a href=/x>'</script><a href=\"[/y]\">"),
        ("<title><a href=/x></Title ><a href=/y>", '<title><a href=/x></Title ><a href="[/y]">'),
        ("<plaintext><a href=/x></plaintext>", "<plaintext><a href=/x></plaintext>"),
        ("<style></styles><a href=/x></style>", "<style></styles><a href=/x></style>"),
        ("<a href=/x", "<a href=/x"),
        ("<!-- never ends <a href=/x>", "<!-- never ends <a href=/x>"),
        ("</", "</"),
    ],
)
def test_links_of_documents_are_rewritten(document: str, wanted: str) -> None:
    assert rewritten(document.encode()).decode() == wanted
    assert rewritten(document.encode(), list(range(len(document)))).decode() == wanted


@pytest.mark.parametrize(("element", "names"), LINKS.items())
def test_attributes_with_urls_are_rewritten(element: str, names: tuple[str, ...]) -> None:
    given_ = "".join(f' {name}="/x"' for name in ("class", *names))
    wanted = ' class="/x"' + "".join(f' {name}="[/x]"' for name in names)
    assert rewritten(f"<{element}{given_}>".encode()) == f"<{element}{wanted}>".encode()


PIECES = (
    "<a href=/x>",
    "<b c='",
    "'>",
    '"',
    "<!--",
    "-->",
    "<script>",
    "</script>",
    "<",
    "/>",
    "&amp",
    "=",
    " ",
    "é",
    "x",
)


@given(st.lists(st.sampled_from(PIECES)), st.lists(st.integers(0, 200), max_size=8))
def test_result_does_not_depend_on_chunks(parts: list[str], cuts: list[int]) -> None:
    document = "".join(parts).encode()
    assert rewritten(document, [min(cut, len(document)) for cut in cuts]) == rewritten(document)


@given(st.binary(max_size=200))
def test_text_without_tags_passes_byte_by_byte(data: bytes) -> None:
    plain = data.replace(b"<", b"")
    assert rewritten(plain, list(range(len(plain)))) == plain


def test_unfinished_tag_is_not_held_for_ever() -> None:
    rewriter = HtmlRewriter(lambda link: f"[{link}]")
    long = b'<a href="' + b"x" * HELD_MAX
    assert rewriter.feed(long) == long
    assert rewriter.feed(b'"><a href=/x>', last=True) == b'"><a href=/x>'


@pytest.mark.parametrize(("begin", "end"), [("<!--", "-->"), ("<script>", "</script>"), ("<!x ", ">")])
def test_long_texts_are_passed_on_and_rewriting_goes_on(begin: str, end: str) -> None:
    rewriter = HtmlRewriter(lambda link: f"[{link}]")
    sent, got = begin.encode(), rewriter.feed(begin.encode())
    for _ in range(100):
        sent += (piece := b"<a href=/ " * 1000)
        got += rewriter.feed(piece)
        assert len(sent) - len(got) < 20
    got += rewriter.feed(f"{end}<a href=/x>".encode(), last=True)
    assert got == sent + end.encode() + b'<a href="[/x]">'


def test_finished_parts_are_not_held() -> None:
    rewriter = HtmlRewriter(str)
    assert rewriter.feed(b"text <p>more") == b"text <p>more"
    assert rewriter.feed(b" text<p") == b" text"

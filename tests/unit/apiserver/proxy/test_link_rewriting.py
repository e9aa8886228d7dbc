"""Links through a proxy: the table of upstream's ``transport_test.go``, and URLs as Go writes them."""

from __future__ import annotations

import pytest

from podling.apiserver.proxy.html_rewriting import HtmlRewriter
from podling.apiserver.proxy.link_rewriting import Links, is_html, proxy_prefix
from podling.machinery import urls

PREFIX = "/proxy/node/node1:10250"
FOO = Links(PREFIX, "mynode.com", "mynode.com", "http", "foo.com")
FOO_TLS = Links("/proxy/node/node1:8080", "mynode.com", "mynode.com", "https", "foo.com")
BARE = Links(PREFIX, "mynode.com", "10.0.0.1:8001")
EVIL = "%00<script>alert(1)</script>"
SAFE = "%00%3Cscript%3Ealert%281%29%3C/script%3E"

DOCUMENT = (
    '<pre><a href="kubelet.log">kubelet.log</a><a href="{}">google.log</a></pre>',
    '<html><header></header><body><pre><a href="kubelet.log">kubelet.log</a><a href="{}">google.log</a></pre>'
    "</body></html>",
    '<a href="kubelet.log">kubelet.log</a><a href="{}">google.log</a>',
    '<pre><img src="kubernetes.jpg"/><img src="{}"/></pre>',
    '<script src="{}"/>',
)


def rewritten(links: Links, document: str, piece: int = 1 << 20) -> str:
    rewriter, data = HtmlRewriter(links.rewrite_text), document.encode()
    made = [rewriter.feed(data[at : at + piece]) for at in range(0, len(data), piece)]
    return (b"".join(made) + rewriter.feed(b"", last=True)).decode()


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
@pytest.mark.parametrize("form", DOCUMENT)
@pytest.mark.parametrize(
    ("links", "link", "wanted"),
    [
        (FOO, "/google.log", f"http://foo.com{PREFIX}/google.log"),
        (FOO, "/google.log/", f"http://foo.com{PREFIX}/google.log/"),
        (FOO_TLS, "/google.log", "https://foo.com/proxy/node/node1:8080/google.log"),
        (FOO, "http://google.com/kubernetes.js", "http://google.com/kubernetes.js"),
        (FOO, "http://mynode.com/kubernetes.js", f"http://foo.com{PREFIX}/kubernetes.js"),
        (FOO, f"{PREFIX}/google.log", f"http://foo.com{PREFIX}/google.log"),
        (FOO, f"http://foo.com{PREFIX}/google.log", f"http://foo.com{PREFIX}/google.log"),
        (BARE, "/google.log?a=1&amp;b=2#c", f"{PREFIX}/google.log?a=1&amp;b=2#c"),
        (BARE, "http://mynode.com/a", f"{PREFIX}/a"),
        (BARE, "//mynode.com/a", f"{PREFIX}/a"),
        (BARE, "relative/a.css", "relative/a.css"),
        (BARE, "../up", "../up"),
        (BARE, "#top", "#top"),
        (BARE, "mailto:a@b.c", "mailto:a@b.c"),
        (BARE, "javascript:f(&#39;x&#39;)", "javascript:f(&#39;x&#39;)"),
        (BARE, "/%zz", "/%zz"),
        (BARE, "", ""),
    ],
)
def test_links_of_documents_are_rewritten(
    form: str, links: Links, link: str, wanted: str, piece: int
) -> None:
    assert rewritten(links, form.format(link), piece) == form.format(wanted)


@pytest.mark.parametrize(
    ("links", "target", "wanted"),
    [
        (FOO, "/redirected/target/", f"http://foo.com{PREFIX}/redirected/target/"),
        (FOO, "http://mynode.com/redirected/target/", f"http://foo.com{PREFIX}/redirected/target/"),
        (FOO, "http://example.com/redirected/target/", "http://example.com/redirected/target/"),
        (BARE, "http://10.0.0.1:8001/target/", f"http://10.0.0.1:8001{PREFIX}/target/"),
        (FOO, f"/redirected/target/{EVIL}/", f"http://foo.com{PREFIX}/redirected/target/{SAFE}/"),
        (FOO, f"http://mynode.com/target/{EVIL}/", f"http://foo.com{PREFIX}/target/{SAFE}/"),
        (FOO, f"http://example.com/target/{EVIL}/", f"http://example.com/target/{SAFE}/"),
        (BARE, f"http://10.0.0.1:8001/target/{EVIL}/", f"http://10.0.0.1:8001{PREFIX}/target/{SAFE}/"),
        (BARE, "/a/../b", f"{PREFIX}/b"),
        (BARE, "next", "next"),
    ],
)
def test_redirects_are_rewritten(links: Links, target: str, wanted: str) -> None:
    assert links.location(target) == wanted


@pytest.mark.parametrize("target", ["http://a b/", "http://a:b/", "/%zz", ":a", "/a\nb", "http://[::1/"])
def test_malformed_redirects_are_errors(target: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        BARE.location(target)


@pytest.mark.parametrize(
    ("links", "path", "headers"),
    [
        (
            FOO,
            "/logs/log.log",
            {
                "X-Forwarded-Uri": f"{PREFIX}/logs/log.log",
                "X-Forwarded-Host": "foo.com",
                "X-Forwarded-Proto": "http",
            },
        ),
        (BARE, "/", {"X-Forwarded-Uri": f"{PREFIX}/"}),
        (BARE, "/any/path/", {"X-Forwarded-Uri": f"{PREFIX}/any/path/"}),
        (BARE, "/log\0<script>alert(1)</script>", {"X-Forwarded-Uri": f"{PREFIX}/log{SAFE}"}),
    ],
)
def test_forwarded_headers_describe_the_request(links: Links, path: str, headers: dict[str, str]) -> None:
    assert links.forwarded_headers(path) == headers


@pytest.mark.parametrize(
    "text",
    [
        "http://a.b:80/c?d#e",
        "HTTP://u:p@a/",
        "/a(b)!",
        "/a%20b",
        "a?",
        "?q",
        "*",
        "http:/a",
        "file:///etc",
        "///a",
        "//h",
        "/a%2Fb",
        "http://[::1]:80/",
        "x:y?z",
    ],
)
def test_urls_that_go_keeps_are_unchanged(text: str) -> None:
    assert str(urls.parse(text)) == text.replace("HTTP", "http")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a b", "a%20b"),
        ("/a<b>", "/a%3Cb%3E"),
        ("/é", "/%C3%A9"),
        ("/a%2fb(", "/a%2fb("),
        ("/a#b c", "/a#b%20c"),
        ("http://h#f", "http://h#f"),
    ],
)
def test_urls_are_normalised_as_by_go(text: str, written: str) -> None:
    assert str(urls.parse(text)) == written


@pytest.mark.parametrize(
    ("path", "tail", "prefix"),
    [
        ("/api/v1/namespaces/n/pods/p/proxy/a/b", "a/b", "/api/v1/namespaces/n/pods/p/proxy"),
        ("/api/v1/namespaces/n/pods/p/proxy/a/", "a", "/api/v1/namespaces/n/pods/p/proxy"),
        ("/api/v1/namespaces/n/pods/p/proxy/a/", "a/", "/api/v1/namespaces/n/pods/p/proxy"),
        ("/api/v1/namespaces/n/pods/p/proxy/", "", "/api/v1/namespaces/n/pods/p/proxy"),
        ("/api/v1/namespaces/n/pods/p/proxy", "", "/api/v1/namespaces/n/pods/p/proxy"),
    ],
)
def test_prefix_is_what_stands_before_the_path(path: str, tail: str, prefix: str) -> None:
    assert proxy_prefix(path, tail) == prefix


@pytest.mark.parametrize(
    ("media_type", "wanted"),
    [("text/html", True), ("text/html; charset=utf-8", True), ("text/plain", False), ("", False)],
)
def test_html_is_known_by_its_media_type(media_type: str, wanted: bool) -> None:
    assert is_html({"Content-Type": media_type}) is wanted

"""URLs as Go's ``net/url`` reads them: hosts, and the words of its refusals."""

from __future__ import annotations

import pytest

from podling.machinery.urls import parse, parse_request_uri


@pytest.mark.parametrize(
    ("text", "host", "name", "port"),
    [
        ("http://a.example:80/x", "a.example:80", "a.example", "80"),
        ("http://u:p@a.example/", "a.example", "a.example", ""),
        ("https://[fe80::1%25eth0]:6443/", "[fe80::1%25eth0]:6443", "fe80::1%25eth0", "6443"),
        ("http://b%C3%BCcher.example/", "b%C3%BCcher.example", "b%C3%BCcher.example", ""),
    ],
)
def test_hosts_are_read_and_written_again(text: str, host: str, name: str, port: str) -> None:
    found = parse(text)
    assert (found.host, found.host_name, found.port) == (host, name, port)
    assert str(found) == text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty url"),
        ("a/b", "invalid URI for request"),
        (":80/", "missing protocol scheme"),
        ("http://a\x7f/", "net/url: invalid control character in URL"),
        ("http://a%41/", 'invalid URL escape "%41"'),
        ("http://a/%zz", 'invalid URL escape "%zz"'),
        ("http://a b/", 'invalid character " " in host name'),
        ("http://[::1/", "missing ']' in host"),
        ("http://a:b/", 'invalid port ":b" after host'),
        ("http://u[@a/", "net/url: invalid userinfo"),
    ],
)
def test_request_uris_are_refused_as_go_does(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=r"^parse ") as caught:
        parse_request_uri(text)
    assert str(caught.value) == f'parse "{text}": {problem}'

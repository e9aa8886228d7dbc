"""Functions of URLs and IP addresses."""

from __future__ import annotations

import pytest

from tests.support.cel_expressions import evaluated, failure

TRUE = """
isURL('https://user:pass@example.com:80/path?query=val#fragment') && isURL('/absolute-path')
!isURL('https://a:b:c/') && !isURL('../relative-path') && !isURL('') && isURL('mailto:me')
!isURL('http://a b/')
url('/path').getScheme() == '' && url('https://example.com/').getScheme() == 'https'
url('https://example.com:80/').getHost() == 'example.com:80'
url('https://[::1]:80/').getHost() == '[::1]:80'
url('/path').getHost() == '' && url('https://u:p@example.com/').getHost() == 'example.com'
url('https://Example.com:80/').getHostname() == 'Example.com'
url('https://[::1]:80/').getHostname() == '::1'
url('https://example.com:80/').getPort() == '80' && url('https://example.com/').getPort() == ''
url('/path').getPort() == ''
url('https://[::1]/').getPort() == '' && url('https://example.com').getEscapedPath() == ''
url('https://example.com/path with spaces/').getEscapedPath() == '/path%20with%20spaces/'
url('https://example.com/path?k1=a&k2=b&k2=c').getQuery() == {'k1': ['a'], 'k2': ['b', 'c']}
url('https://example.com/path?key with spaces=a b').getQuery() == {'key with spaces': ['a b']}
url('https://example.com/path?').getQuery() == {} && url('https://example.com/path').getQuery() == {}
isIP('127.0.0.1') && isIP('::1') && !isIP('127.0.0.256') && !isIP(':::1') && !isIP('::ffff:1.2.3.4')
!isIP('fe80::1%eth0')
!isIP('01.2.3.4') && !isIP('1.2.3') && !isIP('1.2.3.4.5') && !isIP('') && isIP('::ffff:0:1.2.3.4')
ip.isCanonical('127.0.0.1') && ip.isCanonical('2001:db8::abcd') && !ip.isCanonical('2001:DB8::ABCD')
!ip.isCanonical('2001:db8::0:0:0:abcd')
ip('127.0.0.1').family() == 4 && ip('::1').family() == 6 && string(ip('192.168.0.1')) == '192.168.0.1'
ip('0.0.0.0').isUnspecified() && !ip('127.0.0.1').isUnspecified() && ip('::').isUnspecified()
ip('127.0.0.1').isLoopback() && !ip('192.168.0.1').isLoopback() && ip('::1').isLoopback()
ip('224.0.0.1').isLinkLocalMulticast() && !ip('224.0.1.1').isLinkLocalMulticast()
ip('ff02::1').isLinkLocalMulticast()
!ip('fd00::1').isLinkLocalMulticast() && ip('169.254.169.254').isLinkLocalUnicast()
ip('fe80::1').isLinkLocalUnicast()
!ip('fd80::1').isLinkLocalUnicast() && ip('192.168.0.1').isGlobalUnicast()
!ip('255.255.255.255').isGlobalUnicast()
ip('2001:db8::abcd').isGlobalUnicast() && !ip('ff00::1').isGlobalUnicast() && ip('::1') == ip('0::1')
isCIDR('192.168.0.0/16') && isCIDR('::1/128') && !isCIDR('192.168.0.0/33') && !isCIDR('::1/129')
!isCIDR('10.0.0.1')
cidr('192.168.0.0/24').containsIP(ip('192.168.0.1')) && !cidr('192.168.0.0/24').containsIP('192.168.1.1')
cidr('192.168.0.0/16').containsCIDR(cidr('192.168.10.0/24'))
!cidr('192.168.0.0/24').containsCIDR('192.168.0.0/23')
cidr('192.168.0.1/24').ip() == ip('192.168.0.1') && cidr('192.168.0.1/24').ip().family() == 4
cidr('192.168.0.1/24').masked() == cidr('192.168.0.0/24')
cidr('192.168.0.1/24') != cidr('192.168.0.1/24').masked()
cidr('192.168.0.0/16').prefixLength() == 16 && string(cidr('192.168.0.0/24')) == '192.168.0.0/24'
""".strip().splitlines()


@pytest.mark.parametrize("text", TRUE)
def test_function_of_addresses_returns_its_documented_value(text: str) -> None:
    assert evaluated(text) is True


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "url('../a').getHost() == ''",
            'URL parse error during conversion from string: parse "../a": invalid URI for request',
        ),
        (
            "url('https://a:b:c/').getHost() == ''",
            'URL parse error during conversion from string: parse "https://a:b:c/": '
            'invalid port ":b:c" after host',
        ),
        (
            "ip('192.168.0.1.0').family() == 4",
            'IP Address "192.168.0.1.0" parse error during conversion from string: '
            'ParseAddr("192.168.0.1.0"): '
            "IPv4 address too long",
        ),
        (
            "ip('2001:db8:::68').family() == 4",
            'IP Address "2001:db8:::68" parse error during conversion from string: '
            'ParseAddr("2001:db8:::68"): '
            'each colon-separated field must have at least one digit (at ":68")',
        ),
        (
            "ip('1.2.3.256').family() == 4",
            'IP Address "1.2.3.256" parse error during conversion from string: '
            'ParseAddr("1.2.3.256"): '
            "IPv4 field has value >255",
        ),
        ("ip('::ffff:1.2.3.4').family() == 4", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
        ("ip('fe80::1%eth0').family() == 4", 'IP address "fe80::1%eth0" with zone value is not allowed'),
        (
            "cidr('192.168.0.0/').prefixLength() == 4",
            "network address parse error during conversion from string: network address parse error during "
            'conversion from string: netip.ParsePrefix("192.168.0.0/"): bad bits after slash: ""',
        ),
    ],
)
def test_unreadable_address_is_an_error(text: str, why: str) -> None:
    assert failure(text) == why

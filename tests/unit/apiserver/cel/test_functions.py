"""Every function that Kubernetes' expressions can call, with its values."""

from __future__ import annotations

import re
from typing import Any

import pytest

from podling.apiserver.cel import library
from podling.apiserver.cel.functions import OVERLOADS
from podling.apiserver.cel.programs import Failure, NotCompiled, Program
from podling.apiserver.cel.types import DYN, INT, STRING, Type, list_of

NAMES = {"n": INT, "s": STRING, "l": list_of(INT), "d": DYN}
VALUES = {"n": 3, "s": "abc", "l": [3, 1, 2], "d": "x"}


def value(text: str) -> Any:
    return Program(text, NAMES).evaluate(dict(VALUES))


TRUE = """
1 + 2 == 3 && 1.5 + 1.5 == 3.0 && 1u + 2u == 3u && 'a' + 'b' == 'ab' && [1] + [2] == [1, 2]
b'a' + b'b' == b'ab' && duration('1m') + duration('1s') == duration('61s')
5 - 3 == 2 && duration('1m') - duration('1s') == duration('59s')
timestamp('2026-01-02T00:00:00Z') - timestamp('2026-01-01T00:00:00Z') == duration('24h')
timestamp('2026-01-02T00:00:00Z') - duration('24h') == timestamp('2026-01-01T00:00:00Z')
duration('24h') + timestamp('2026-01-01T00:00:00Z') == timestamp('2026-01-02T00:00:00Z')
2 * 3 == 6 && 7 / 2 == 3 && -7 / 2 == -3 && 7 % 4 == 3 && -7 % 4 == -3 && 7.0 / 2.0 == 3.5
9007199254740993 % 10 == 3 && 18446744073709551615u % 10u == 5u
-n == -3 && -1.5 < 0.0 && 1 < 2u && 1.5 >= 1 && 2u <= 2 && 'a' < 'b' && b'a' < b'b' && false < true
n != 4 && 1 in [1, 2] && 'a' in {'a': 1} && !(3 in [1, 2])
int('12') == 12 && int(3.9) == 3 && int(-3.9) == -3 && int(3u) == 3 && int(n) == 3
int(timestamp('1970-01-01T00:01:00Z')) == 60 && int(duration('1s')) == 1000000000
uint('7') == 7u && uint(7) == 7u && uint(7.9) == 7u && double('1.5') == 1.5 && double(2) == 2.0
bool('true') && !bool('F') || bool('t') && bool(true)
string(12) == '12' && string(1u) == '1' && string(true) == 'true' && string(b'abc') == 'abc'
string(1.5) == '1.5' && string(1e6) == '1e+06' && string(123456.0) == '123456' && string(0.00001) == '1e-05'
string(duration('90s')) == '90s' && string(duration('1.5s')) == '1.5s' && string('a') == 'a'
string(timestamp('2026-01-01T00:00:00.500Z')) == '2026-01-01T00:00:00.5Z'
string(timestamp('2011-08-18T19:03:37.010+01:00')) == '2011-08-18T19:03:37.01+01:00'
--n == n && !!(n == 3) && 1 - -1 == 2
bytes('äö').size() == 4 && bytes(b'ab') == b'ab'
duration('1h').getMinutes() == 60 && duration('1h').getHours() == 1 && duration('2m').getSeconds() == 120
duration('1.234s').getMilliseconds() == 1234 && duration(duration('1s')) == duration('1s')
timestamp('2026-03-04T05:06:07.089Z').getFullYear() == 2026
timestamp('2026-03-04T05:06:07Z').getMonth() == 2
timestamp('2026-03-04T05:06:07Z').getDate() == 4 && timestamp('2026-03-04T05:06:07Z').getDayOfMonth() == 3
timestamp('2026-03-04T05:06:07Z').getDayOfWeek() == 3
timestamp('2026-03-04T05:06:07Z').getDayOfYear() == 62
timestamp('2026-03-04T05:06:07Z').getHours() == 5 && timestamp('2026-03-04T05:06:07Z').getMinutes() == 6
timestamp('2026-03-04T05:06:07.089Z').getSeconds() == 7
timestamp('2026-03-04T05:06:07.089Z').getMilliseconds() == 89
timestamp('2026-03-04T05:06:07Z').getHours('+02:00') == 7
timestamp('2026-03-04T05:06:07Z').getHours('-05:30') == 23
timestamp('2026-03-04T05:06:07Z').getHours('Europe/Berlin') == 6 && timestamp(60).getMinutes() == 1
timestamp(timestamp(0)) == timestamp('1970-01-01T00:00:00Z') && dyn(1) == 1
type(1) == int && type(1u) == uint && type('a') == string && type([1]) == list && type(null) == null_type
type(dyn(1u)) == uint && type(dyn(2.0)) == double && type(d) == string && type(type(1)) == type
type(duration('1s')) == google.protobuf.Duration && type(timestamp(0)) == google.protobuf.Timestamp
type(ip('::1')) == net.IP && type(cidr('::1/128')) == net.CIDR
size('äö') == 2 && size(b'ab') == 2 && size([1]) == 1 && size({'a': 1}) == 1
'äö'.size() == 2 && b'ab'.size() == 2 && l.size() == 3 && {}.size() == 0
'abc'.contains('b') && 'abc'.startsWith('a') && 'abc'.endsWith('c') && 'abc'.matches('^a.c$')
matches('x', 'x')
'tacocat'.charAt(3) == 'o' && 'tacocat'.charAt(7) == ''
'hello mellow'.indexOf('') == 0 && 'hello mellow'.indexOf('ello') == 1
'hello mellow'.indexOf('jello') == -1
'hello mellow'.indexOf('', 2) == 2 && 'hello mellow'.indexOf('ello', 2) == 7
'hello mellow'.indexOf('ello', 20) == -1
'hello mellow'.lastIndexOf('') == 12 && 'hello mellow'.lastIndexOf('ello') == 7
'x'.lastIndexOf('jello') == -1
'hello mellow'.lastIndexOf('ello', 6) == 1 && 'hello mellow'.lastIndexOf('ello', 20) == -1
['hello', 'mellow'].join() == 'hellomellow' && ['a', 'b'].join('-') == 'a-b' && [].join('/') == ''
'TacoÄ'.lowerAscii() == 'tacoÄ' && 'tacoä'.upperAscii() == 'TACOä'
'hello hello'.replace('he', 'we') == 'wello wello' && 'hello hello'.replace('he', 'we', 1) == 'wello hello'
'hello hello'.replace('he', 'we', 0) == 'hello hello'
'hello hello'.replace('he', 'we', -1) == 'wello wello'
'a b c'.split(' ') == ['a', 'b', 'c'] && 'a b c'.split(' ', 0) == [] && 'a b c'.split(' ', 1) == ['a b c']
'a b c'.split(' ', 2) == ['a', 'b c'] && 'a b c'.split(' ', -1) == ['a', 'b', 'c']
'abc'.split('', 2) == ['a', 'bc']
'tacocat'.substring(4) == 'cat' && 'tacocat'.substring(0, 4) == 'taco' && 'a'.substring(1) == ''
'  \\ttrim\\n '.trim() == 'trim' && strings.quote('a"b\\n') == '"a\\\\"b\\\\n"'
'%s is %d, %.2f, %x, %X, %%'.format(['a', 7, 1.5, 26, 'Hi']) == 'a is 7, 1.50, 1a, 4869, %'
'%o %b'.format([8, true]) == '10 1'
'%f %e'.format(['NaN', '-Infinity']) == 'NaN -∞' && '%s'.format([[1.0 / 0.0]]) == '["+Inf"]'
'%s'.format([[dyn('abc'), dyn(3.14), dyn(null), dyn([9, 8])]]) == '["abc", 3.140000, null, [9, 8]]'
'%s'.format([{'k2': dyn(duration('2h')), 'k1': dyn(b'x')}]) == '{"k1":b"x", "k2":duration("7200s")}'
'%s %s'.format([timestamp('2023-02-03T23:31:20Z'), null]) == '2023-02-03T23:31:20Z null'
'%s'.format([duration('1h45m47s')]) == '6347s'
'%.2f %e'.format([10000.5, 1052.0]) == '10,000.50 1.052000\u202f×\u202f10⁰³'
'%s'.format([type(1)]) == 'int'
'abc 123'.find('[0-9]+') == '123' && 'abc 123'.find('xyz') == ''
'123 abc 456'.findAll('[0-9]+') == ['123', '456'] && '123 abc 456'.findAll('[0-9]+', 1) == ['123']
'123 a'.findAll('[0-9]*') == ['123', '', ''] && '123'.findAll('xyz') == []
[1, 2, 3].isSorted() && ['a', 'b', 'b', 'c'].isSorted() && ![2.0, 1.0].isSorted() && [1].isSorted()
[false, true].isSorted() && [b'a', b'b'].isSorted() && [duration('1s'), duration('2s')].isSorted()
[1, 3].sum() == 4 && [1.0, 3.0].sum() == 4.0 && [1u].sum() == 1u
[duration('1m'), duration('1s')].sum() == duration('61s')
[].sum() == 0 && l.filter(x, x > 9).sum() == 0
[1, 3].min() == 1 && [1, 3].max() == 3 && ['a', 'b'].max() == 'b'
[timestamp(0), timestamp(1)].min() == timestamp(0)
[1, 2, 2, 3].indexOf(2) == 1 && ['a', 'b', 'b', 'c'].lastIndexOf('b') == 2 && [1.0].indexOf(1.1) == -1
[1, 2, 3, 4].slice(1, 3) == [2, 3] && [[1], [2, 3]].flatten() == [1, 2, 3]
[dyn(1), [dyn(2), [3]]].flatten(2) == [1, 2, 3]
[1, 2, 2, 1].distinct() == [1, 2] && [1, 2].reverse() == [2, 1] && lists.range(3) == [0, 1, 2]
l.sort() == [1, 2, 3]
['b', 'a'].sort() == ['a', 'b'] && [{'n': 2}, {'n': 1}].sortBy(e, e.n) == [{'n': 1}, {'n': 2}]
sets.contains([1, 2, 3], [2, 3]) && !sets.contains([1], [2]) && sets.contains([], [])
sets.equivalent([1, 1], [1]) && sets.equivalent([dyn(1)], [dyn(1u), dyn(1.0)])
sets.intersects([1, 2], [2]) && !sets.intersects([1], [])
optional.of(1).hasValue() && !optional.none().hasValue() && !optional.ofNonZeroValue('').hasValue()
optional.ofNonZeroValue(1).value() == 1 && optional.none().orValue(2) == 2 && optional.of(1).orValue(2) == 1
optional.none().or(optional.of(3)).value() == 3 && optional.of(1).or(optional.of(3)).value() == 1
!optional.ofNonZeroValue(timestamp('0001-01-01T00:00:00Z')).hasValue()
optional.of(1).optMap(x, x + 1) == optional.of(2)
optional.of(1).optFlatMap(x, optional.of(x + 1)).value() == 2
optional.unwrap([optional.of(1), optional.none()]) == [1]
[optional.of(1), optional.none()].unwrapOpt() == [1]
[1, 2].first() == optional.of(1) && [1, 2].last().value() == 2 && !l.filter(x, false).first().hasValue()
[?optional.of(1), 2, ?optional.none()] == [1, 2] && {?'a': optional.none(), 'b': 1} == {'b': 1}
{'a': {'b': 1}}.?a.?b.orValue(0) == 1 && !{'a': 1}.?b.hasValue() && [1][?3].orValue(9) == 9
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
isQuantity('1.3G') && isQuantity('1.3Gi') && !isQuantity('1,3G') && !isQuantity('200K') && !isQuantity('Mi')
quantity('200M') == quantity('0.2G') && quantity('2000k') == quantity('2M')
quantity('200M') != quantity('0.3G')
quantity('50M').isLessThan(quantity('50Mi')) && quantity('50Mi').isGreaterThan(quantity('50M'))
quantity('200M').compareTo(quantity('0.2G')) == 0 && quantity('50M').compareTo(quantity('50Mi')) == -1
quantity('50k').add(quantity('20')) == quantity('50.02k') && quantity('50k').add(20) == quantity('50020')
quantity('50k').sub(quantity('20k')) == quantity('30k') && quantity('50k').sub(20) == quantity('49980')
quantity('50k').asInteger() == 50000 && quantity('50').isInteger() && !quantity('0.5').isInteger()
!quantity('9999999999999999999999999999999999999G').isInteger()
quantity('50.703k').asApproximateFloat() == 50703.0
sign(quantity('-3')) == -1 && sign(quantity('0')) == 0 && sign(quantity('1m')) == 1
quantity('1n') != quantity('2n')
isSemver('1.2.3-beta.1+build.1') && !isSemver('v1.0.0') && !isSemver('1.0') && !isSemver('01.01.01')
!isSemver('')
isSemver('v1.0.0', true) && isSemver('01.01.01', true) && isSemver('1', true) && !isSemver(' 1.0.0', true)
semver('v01.01', true) == semver('1.1.0') && semver('1.2.3').compareTo(semver('2.0.0')) == -1
semver('1.0.0').isLessThan(semver('1.2.3')) && semver('1.2.3').isGreaterThan(semver('1.2.3-rc.1'))
semver('1.0.0-alpha.1').isLessThan(semver('1.0.0-alpha.beta'))
semver('1.0.0-2').isLessThan(semver('1.0.0-10'))
semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2 && semver('1.2.3').patch() == 3
format.named('dns1123Label').value() == format.dns1123Label() && !format.named('unknown').hasValue()
!format.dns1123Label().validate('my-label-name').hasValue()
!format.dns1123Subdomain().validate('a.b').hasValue()
!format.dns1035Label().validate('a1').hasValue() && !format.qualifiedName().validate('a.b/c').hasValue()
!format.dns1123LabelPrefix().validate('a-').hasValue()
!format.dns1123SubdomainPrefix().validate('a.b.-').hasValue()
!format.dns1035LabelPrefix().validate('my-label-prefix-').hasValue()
!format.labelValue().validate('A_b').hasValue()
!format.uri().validate('http://example.com').hasValue()
!format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()
format.byte().validate('aGVsbG8').value() == ['invalid base64']
format.date().validate('2020-01-32').value() == ['invalid date']
format.datetime().validate('2020-01-32T00:00:00Z').value() == ['invalid datetime']
[1, 2].all(i, v, i < v) && ['a'].exists(i, v, i == 0 && v == 'a')
{'a': 1, 'b': 2}.existsOne(k, v, k == 'a' && v == 1)
{'a': 1}.all(k, v, k == 'a' && v == 1) && [5, 6].transformList(i, v, i * v) == [0, 6]
[5, 6].transformList(i, v, v > 5, i) == [1] && {'a': 1}.transformList(k, v, k) == ['a']
{'a': 1, 'b': 2}.transformMap(k, v, v + 1) == {'a': 2, 'b': 3}
['x', 'y'].transformMap(i, v, i > 0, v) == {1: 'y'}
{'a': 'x'}.transformMapEntry(k, v, {v: k}) == {'x': 'a'}
[1, 2].transformMapEntry(i, v, v > 1, {v: i}) == {2: 1}
[1, 2, 3].map(x, x > 1, x * 2) == [4, 6] && {'a': 1}.map(k, k) == ['a'] && [1].exists_one(x, x == 1)
""".strip().splitlines()


@pytest.mark.parametrize("text", TRUE)
def test_every_function_returns_its_documented_value(text: str) -> None:
    assert value(text) is True


def test_table_covers_every_function() -> None:
    assert library.__all__
    whole = "\n".join(TRUE)
    missing = [
        name
        for name, overloads in OVERLOADS.items()
        if re.fullmatch(r"[A-Za-z.0-9]+", name)
        and not all("authorization" in str(each.arguments) for each in overloads)  # shown with admission
        and not name.startswith("jsonpatch.")  # and so are these
        and not re.search(rf"\b{re.escape(name)}\(", whole)
    ]
    assert missing == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("9223372036854775807 + n > 0", "integer overflow"),
        ("uint(-1) > 0u", "unsigned integer overflow"),
        ("n / 0 == 1", "division by zero"),
        ("n % 0 == 1", "modulus by zero"),
        ("l[3] == 1", "index out of bounds: 3"),
        ("{'a': 1}['b'] == 1", "no such key: b"),
        ("int('x') == 1", "type conversion error from 'string' to 'int'"),
        ("int('1_0') == 1", "type conversion error from 'string' to 'int'"),
        ("double(s) == 1.0", "type conversion error from 'string' to 'double'"),
        ("bool(s)", "type conversion error from 'string' to 'bool'"),
        ("duration(s) > duration('1s')", "type conversion error from 'string' to 'google.protobuf.Duration'"),
        ("timestamp(s) > timestamp(0)", "type conversion error from 'string' to 'google.protobuf.Timestamp'"),
        ("timestamp(0).getHours('Nowhere/Land') == 1", "unknown time zone Nowhere/Land"),
        ("s.charAt(4) == ''", "index out of range: 4"),
        ("s.substring(4) == ''", "index out of range: 4"),
        ("s.substring(2, 1) == ''", "invalid substring range. start: 2, end: 1"),
        ("s.indexOf('a', -1) == 0", "index out of range: -1"),
        ("s.matches(s + '[')", "error parsing regexp: missing closing ]: `[`"),
        (
            "s.find(s + '(*)') == ''",
            "Illegal regex: error parsing regexp: missing argument to repetition operator: `*`",
        ),
        (
            "'%d'.format([d]) == ''",
            "error during formatting: decimal clause can only be used on integers, was given string",
        ),
        ("'%q'.format([1]) == ''", 'could not parse formatting clause: unrecognized formatting clause "q"'),
        ("'%d %d'.format([1]) == ''", "index 1 out of range"),
        ("'%d'.format([1, 2]) == ''", "too many arguments supplied to string.format (expected 1, got 2)"),
        ("l.filter(x, x > 9).min() == 1", "min called on empty list"),
        ("l.filter(x, x > 9).max() == 1", "max called on empty list"),
        ("l.slice(0, 4) == l", "cannot slice(0, 4), list is length 3"),
        ("l.slice(2, 1) == l", "cannot slice(2, 1), start index must be less than or equal to end index"),
        ("l.slice(-1, 1) == l", "cannot slice(-1, 1), negative indexes not supported"),
        ("optional.none().value() == 1", "optional.none() dereference"),
        ("{'a': 1, 'b': 1}.transformMapEntry(k, v, {v: k}) == {}", "insert failed: key 1 already exists"),
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
        ("quantity('10Mm').isInteger()", "unable to parse quantity's suffix"),
        ("quantity('9999999999999999999999G').asInteger() == 1", "cannot convert value to integer"),
        ("semver('v1.0').major() == 1", "No Major.Minor.Patch elements found"),
        ("semver('').major() == 1", "Version string empty"),
        ("semver('1.02.3').major() == 1", 'Minor number must not contain leading zeroes "02"'),
        ("semver('1.0-rc', true).major() == 1", "short version cannot contain PreRelease/Build meta data"),
    ],
)
def test_failed_evaluation_has_a_message(text: str, why: str) -> None:
    with pytest.raises(Failure) as failed:
        value(text)
    assert str(failed.value) == why


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("cel.bind(x, n, x == x)", "undeclared reference to 'cel' (in container '')"),
        ("'abc'.reverse() == 'cba'", "found no matching overload for 'reverse' applied to 'string.()'"),
        ("isIP(cidr('::1/128'))", "found no matching overload for 'isIP' applied to '(net.CIDR)'"),
        (
            "quantity('1').sign() == 1",
            "found no matching overload for 'sign' applied to 'kubernetes.Quantity.()'",
        ),
        ("[[1]].sum() == 1", "found no matching overload for 'sum' applied to 'list(list(int)).()'"),
        ("['a'].sum() == 'a'", "found no matching overload for 'sum' applied to 'list(string).()'"),
        (
            "semver('1.0.0') == 1",
            "found no matching overload for '_==_' applied to '(kubernetes.Semver, int)'",
        ),
        ("url('/a') == 1", "found no matching overload for '_==_' applied to '(kubernetes.URL, int)'"),
        (
            "optional.of(n) == n",
            "found no matching overload for '_==_' applied to '(optional_type(int), int)'",
        ),
        (
            "{'a': 1} == ['a']",
            "found no matching overload for '_==_' applied to '(map(string, int), list(string))'",
        ),
        ("timestamp(0) == n", "found no matching overload for '_==_' applied to '(timestamp, int)'"),
        ("[1].all(i, v, v + 1)", "found no matching overload for '_&&_' applied to '(bool, int)'"),
        (
            "n.all(i, v, true)",
            "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
        ),
        ("duration('abc') == duration('1s')", "invalid duration argument"),
        ("timestamp('2026') == timestamp(0)", "invalid timestamp argument"),
        ("s.matches('[')", "invalid matches argument"),
    ],
)
def test_compilation_error_has_a_message(text: str, why: str) -> None:
    with pytest.raises(NotCompiled) as refused:
        Program(text, NAMES)
    assert str(refused.value).splitlines()[0].split(": ", 2)[2] == why


@pytest.mark.parametrize(
    "text",
    [
        " && ".join(["true"] * 9000),
        " == ".join(["true"] * 250),
        "(" * 249 + "true" + ")" * 249,
        "[1].all(x, " * 200 + "true" + ")" * 200,
        "[1]" + ".map(x, x)" * 200 + " == [1]",
    ],
    ids=["logic", "relations", "parentheses", "macros", "calls"],
)
def test_deeply_nested_expressions_compile(text: str) -> None:
    assert value(text) is True


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (" == ".join(["n"] * 252), "max recursion depth exceeded"),
        ("[1]" + ".map(x, x)" * 251, "max recursion depth exceeded"),
        ("(" * 251 + "true" + ")" * 251, "expression recursion limit exceeded: 250"),
        ("n" * 100_001, "expression code point size exceeds limit: size: 100001, limit 100000"),
    ],
    ids=["relations", "calls", "parentheses", "size"],
)
def test_error_of_an_oversized_expression_has_no_position(text: str, why: str) -> None:
    with pytest.raises(NotCompiled) as refused:
        Program(text, NAMES)
    assert str(refused.value) == f"ERROR: <input>:-1:0: {why}"


def test_malformed_pattern_is_a_compilation_error() -> None:
    with pytest.raises(NotCompiled) as refused:
        Program("s.find(')') == ''", NAMES)
    assert refused.value.said == "program instantiation failed: error parsing regexp: unexpected ): `)`"


def test_objects_are_called_by_their_place() -> None:
    from podling.apiserver.customresources.schema_types import schema_type
    from podling.apiserver.customresources.structural import schema_of

    inner = {"type": "object", "properties": {"x": {"type": "integer"}}}
    own = schema_type(
        schema_of(
            {
                "type": "object",
                "properties": {"a": inner, "b": inner, "l": {"type": "array", "items": inner}},
            }
        ),
        label="selfType7",
    )
    assert isinstance(own, Type)
    for text, why in (
        ("self.a == self.b", "(selfType7.a, selfType7.b)"),
        ("self == 1", "(selfType7, int)"),
        ("self.l == 1", "(list(selfType7.l.@idx), int)"),
    ):
        with pytest.raises(NotCompiled, match="found no matching overload for '_==_' applied to") as refused:
            Program(text, {"self": own})
        assert why in str(refused.value)
    Program("self.a != null && self.l[0] == self.l[1]", {"self": own})

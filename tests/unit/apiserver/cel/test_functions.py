"""Operators, conversions and parts of times, with their values."""

from __future__ import annotations

import pytest

from tests.support.cel_expressions import evaluated, failure

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
""".strip().splitlines()


@pytest.mark.parametrize("text", TRUE)
def test_every_function_returns_its_documented_value(text: str) -> None:
    assert evaluated(text) is True


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
    ],
)
def test_failed_evaluation_has_a_message(text: str, why: str) -> None:
    assert failure(text) == why

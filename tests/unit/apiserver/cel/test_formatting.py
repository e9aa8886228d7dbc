"""Conversion of values to text."""

from __future__ import annotations

import pytest

from tests.support.cel_expressions import evaluated, failure

TRUE = """
string(12) == '12' && string(1u) == '1' && string(true) == 'true' && string(b'abc') == 'abc'
string(1.5) == '1.5' && string(1e6) == '1e+06' && string(123456.0) == '123456' && string(0.00001) == '1e-05'
string(duration('90s')) == '90s' && string(duration('1.5s')) == '1.5s' && string('a') == 'a'
string(timestamp('2026-01-01T00:00:00.500Z')) == '2026-01-01T00:00:00.5Z'
string(timestamp('2011-08-18T19:03:37.010+01:00')) == '2011-08-18T19:03:37.01+01:00'
'%s is %d, %.2f, %x, %X, %%'.format(['a', 7, 1.5, 26, 'Hi']) == 'a is 7, 1.50, 1a, 4869, %'
'%o %b'.format([8, true]) == '10 1'
'%f %e'.format(['NaN', '-Infinity']) == 'NaN -∞' && '%s'.format([[1.0 / 0.0]]) == '["+Inf"]'
'%s'.format([[dyn('abc'), dyn(3.14), dyn(null), dyn([9, 8])]]) == '["abc", 3.140000, null, [9, 8]]'
'%s'.format([{'k2': dyn(duration('2h')), 'k1': dyn(b'x')}]) == '{"k1":b"x", "k2":duration("7200s")}'
'%s %s'.format([timestamp('2023-02-03T23:31:20Z'), null]) == '2023-02-03T23:31:20Z null'
'%s'.format([duration('1h45m47s')]) == '6347s'
'%.2f %e'.format([10000.5, 1052.0]) == '10,000.50 1.052000\u202f×\u202f10⁰³'
'%s'.format([type(1)]) == 'int'
""".strip().splitlines()


@pytest.mark.parametrize("text", TRUE)
def test_value_is_formatted_as_documented(text: str) -> None:
    assert evaluated(text) is True


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "'%d'.format([d]) == ''",
            "error during formatting: decimal clause can only be used on integers, was given string",
        ),
        ("'%q'.format([1]) == ''", 'could not parse formatting clause: unrecognized formatting clause "q"'),
        ("'%d %d'.format([1]) == ''", "index 1 out of range"),
        ("'%d'.format([1, 2]) == ''", "too many arguments supplied to string.format (expected 1, got 2)"),
    ],
)
def test_invalid_format_has_a_message(text: str, why: str) -> None:
    assert failure(text) == why

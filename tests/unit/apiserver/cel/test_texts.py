"""Functions of strings and regular expressions."""

from __future__ import annotations

import pytest

from tests.support.cel_expressions import evaluated, failure

TRUE = """
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
'abc 123'.find('[0-9]+') == '123' && 'abc 123'.find('xyz') == ''
'123 abc 456'.findAll('[0-9]+') == ['123', '456'] && '123 abc 456'.findAll('[0-9]+', 1) == ['123']
'123 a'.findAll('[0-9]*') == ['123', '', ''] && '123'.findAll('xyz') == []
""".strip().splitlines()


@pytest.mark.parametrize("text", TRUE)
def test_function_of_strings_returns_its_documented_value(text: str) -> None:
    assert evaluated(text) is True


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("s.charAt(4) == ''", "index out of range: 4"),
        ("s.substring(4) == ''", "index out of range: 4"),
        ("s.substring(2, 1) == ''", "invalid substring range. start: 2, end: 1"),
        ("s.indexOf('a', -1) == 0", "index out of range: -1"),
        ("s.matches(s + '[')", "error parsing regexp: missing closing ]: `[`"),
        (
            "s.find(s + '(*)') == ''",
            "Illegal regex: error parsing regexp: missing argument to repetition operator: `*`",
        ),
    ],
)
def test_failed_function_of_strings_has_a_message(text: str, why: str) -> None:
    assert failure(text) == why

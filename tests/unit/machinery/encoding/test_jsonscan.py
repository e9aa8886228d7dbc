"""The scanner of JSON that finds repeated keys."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from podling.machinery.encoding import jsonscan

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(plain)
def test_the_slow_scanner_accepts_all_json(value: Any) -> None:
    assert jsonscan.complaint(json.dumps(value)) == ""
    assert jsonscan.strict_reports(json.dumps(value, indent=1)) == []


@given(st.text(alphabet='{}[]",:0123456789.eE+-tfnul\\ a'))
def test_both_json_readers_agree_on_what_is_json(text: str) -> None:
    try:
        json.loads(text)
        good = True
    except ValueError:
        good = False
    assert (jsonscan.complaint(text) == "") == good

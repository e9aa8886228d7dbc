"""Evaluation of expressions over a few variables of known types."""

from __future__ import annotations

from typing import Any

import pytest

from podling.apiserver.cel.programs import Failure, Program
from podling.apiserver.cel.types import DYN, INT, STRING, list_of

NAMES = {"n": INT, "s": STRING, "l": list_of(INT), "d": DYN}
VALUES = {"n": 3, "s": "abc", "l": [3, 1, 2], "d": "x"}


def evaluated(text: str) -> Any:
    return Program(text, NAMES).evaluate(dict(VALUES))


def failure(text: str) -> str:
    """Return the message of an expression that cannot be evaluated."""
    with pytest.raises(Failure) as failed:
        evaluated(text)
    return str(failed.value)

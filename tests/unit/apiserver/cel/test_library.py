"""All functions that expressions can call: each has a value in the table of its module."""

from __future__ import annotations

import re

from podling.apiserver.cel import library
from podling.apiserver.cel.functions import OVERLOADS
from tests.unit.apiserver.cel import (
    test_addresses,
    test_amounts,
    test_folds,
    test_formatting,
    test_functions,
    test_lists,
    test_named_formats,
    test_texts,
)

TABLES = (
    test_addresses,
    test_amounts,
    test_folds,
    test_formatting,
    test_functions,
    test_lists,
    test_named_formats,
    test_texts,
)


def test_tables_cover_every_function() -> None:
    assert library.__all__
    whole = "\n".join(line for each in TABLES for line in each.TRUE)
    missing = [
        name
        for name, overloads in OVERLOADS.items()
        if re.fullmatch(r"[A-Za-z.0-9]+", name)
        and not all("authorization" in str(each.arguments) for each in overloads)  # shown with admission
        and not name.startswith("jsonpatch.")  # and so are these
        and not re.search(rf"\b{re.escape(name)}\(", whole)
    ]
    assert missing == []

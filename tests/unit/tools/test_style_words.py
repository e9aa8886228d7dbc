"""Findings about words in docstrings, comments, test names and pages."""

from __future__ import annotations

import pytest

from tools.style.words import banned_in_module, banned_in_page, relative_clauses, unclear_test_names


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ('"""What it is."""', [1]),
        ('"""Returns what it is."""', []),
        ('def f():\n    """Whether it holds."""', [2]),
        ('X = 1\n"""How many."""', [2]),
        ("# Where it stands.\nX = 1", [1]),
        ("# The first line ends with\n# which continues here.\nX = 1", []),
        ('"""Whatsoever."""', []),
    ],
)
def test_relative_clauses_begin_docstrings_and_comments(source: str, lines: list[int]) -> None:
    assert [each.line for each in relative_clauses(source)] == lines


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ('"""The API server is asked."""', ["asked"]),
        ('"""Reads the tasks of a basket."""', []),
        ('"""A ``door`` and a "room" are quoted."""', []),
        ("X = 1  # Nobody reads it.", ["Nobody"]),
        ('door = "nobody"', []),
        ('"""One line.\n\nIt tells\nsomebody."""', ["somebody", "tells"]),
    ],
)
def test_banned_words_are_found_in_prose_only(source: str, words: list[str]) -> None:
    assert sorted(each.text for each in banned_in_module(source)) == sorted(words)


def test_fenced_code_of_pages_is_left_out() -> None:
    page = "Ask it.\n```\necho ask\n```\nA `door` opens.\nNobody reads."
    assert [(each.line, each.text) for each in banned_in_page(page)] == [(6, "Nobody"), (1, "Ask")]


@pytest.mark.parametrize(
    ("name", "is_clear"),
    [
        ("test_kubelet_may_update_own_node", True),
        ("test_its_own", False),
        ("test_what_is_one_all_the_same", False),
        ("test_pod_is_told_to_end", False),
    ],
)
def test_names_of_tests_state_subject_and_behaviour(name: str, is_clear: bool) -> None:
    assert (unclear_test_names(f"def {name}(): ...") == []) is is_clear

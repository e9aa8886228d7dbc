"""Tokens with which nodes join."""

from __future__ import annotations

from podling.cli.join_tokens import new_token
from podling.machinery.tokens import bootstrap_tokens


def test_new_tokens_have_the_form_and_differ() -> None:
    found = {str(new_token()) for _ in range(100)}
    assert len(found) == 100
    assert all(bootstrap_tokens.parse(each) is not None for each in found)

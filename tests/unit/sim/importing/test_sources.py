"""Reading the files that scenarios are made from."""

from __future__ import annotations

import pytest

from podling.sim.importing.sources import Unreadable, documents

POD = "{apiVersion: v1, kind: Pod, metadata: {name: a}}"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (POD, 1),
        (f"{POD}\n---\n{POD}\n---\n", 2),
        (f"kind: List\napiVersion: v1\nitems: [{POD}, {POD}]", 2),
        (f"kind: PodList\napiVersion: v1\nitems:\n- {POD}", 1),
        ('{"apiVersion": "v1", "kind": "List", "items": null}', 0),
        ("", 0),
    ],
)
def test_lists_and_documents_are_taken_apart(text: str, count: int) -> None:
    assert len(documents(text, "f")) == count


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: [1, 2", "f:2:1: did not find expected ',' or ']'"),
        ("kind: Pod\n\tx: 1", "f:2:1: found a tab character that violates indentation"),
        ("- 1\n", "f:1:1: a document must be an object of Kubernetes"),
        (f"{POD}\n---\n  text\n", "f:3:3: a document must be an object of Kubernetes"),
        ("apiVersion: v1\nkind: List\nitems:\n- {kind: Pod}\n", "f:4:3: an object needs apiVersion and kind"),
        ("apiVersion: v1\nkind: Pod\n", "f:1:1: this Pod has no metadata.name"),
    ],
)
def test_problems_have_line_and_column(text: str, problem: str) -> None:
    with pytest.raises(Unreadable) as raised:
        documents(text, "f")
    assert str(raised.value) == problem

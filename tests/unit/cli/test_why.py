"""The answer of ``podling why`` as text."""

from __future__ import annotations

from podling.cli.why import paragraph
from tests.support.ailing_pods import BOUND, NOW, ask, waiting


def test_answer_is_one_paragraph_with_evidence() -> None:
    answer = ask(BOUND, waiting("ErrImageNeverPull"), ("Failed/main", "Error: ErrImageNeverPull"))
    text = paragraph(answer, NOW)
    assert "\n" not in text
    assert "[status of main: waiting, ErrImageNeverPull; event Failed, 30s ago]" in text
    assert text.endswith(answer.advice)

"""The indexes of an Indexed job: sets of numbers written as ``1,3-5,7``. Pure.

Upstream: ``pkg/controller/job/indexed_job_utils.go`` and ``success_policy.go``.
"""

from __future__ import annotations

from collections.abc import Iterable

from podling.api.batch_v1 import SuccessPolicyRule
from podling.api.core_v1 import Pod
from podling.machinery.digits import is_number
from podling.machinery.numbers import natural

INDEX = "batch.kubernetes.io/job-completion-index"
"""The annotation and label that carry a pod's index."""


def index_of(pod: Pod) -> int | None:
    """Return the pod's index, or None if it has none that can be read."""
    return natural(pod.metadata.annotations.get(INDEX, ""))


def parse(text: str | None, completions: int) -> set[int]:
    """The numbers below ``completions`` that ``text`` lists; parts that cannot be read are left out."""
    found: set[int] = set()
    for part in (text or "").split(","):
        first, dash, last = part.partition("-")
        if is_number(first) and (not dash or is_number(last)):
            found.update(range(int(first), min(int(last if dash else first), completions - 1) + 1))
    return found


def render(indexes: Iterable[int]) -> str:
    """``{1, 3, 4, 5}`` as ``1,3-5``."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(_run(first, last) for first, last in runs)


def _run(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"


def first_free(taken: set[int], count: int, completions: int) -> list[int]:
    """The lowest ``count`` indexes below ``completions`` that are not taken."""
    free: list[int] = []
    for index in range(completions):
        if len(free) >= count:
            break
        if index not in taken:
            free.append(index)
    return free


def rule_met(rules: Iterable[SuccessPolicyRule], succeeded: set[int], completions: int) -> int | None:
    """The number of the first success rule that these indexes meet, or None."""
    for number, rule in enumerate(rules):
        wanted = parse(rule.succeeded_indexes, completions) if rule.succeeded_indexes else None
        counting = succeeded & wanted if wanted is not None else succeeded
        if rule.succeeded_count is not None:
            if len(counting) >= rule.succeeded_count:
                return number
        elif wanted is not None and counting == wanted:
            return number
    return None

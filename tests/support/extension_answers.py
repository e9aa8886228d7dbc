"""Answers of ``podling why`` for objects of OpenKruise's kinds."""

from __future__ import annotations

from podling.cli.evidence import Explanation, PartProblems
from podling.cli.workloads.extension_kinds import kind_of, why_extended
from podling_kruise.extension import KruiseExtension
from tests.support.clone_sets import Kruise


async def why(cluster: Kruise, kind: str, name: str) -> Explanation:
    """Return the answer for an object in the namespace ``default``; ``kind`` as users write it."""
    found = kind_of([KruiseExtension()], kind)
    assert found is not None
    return await why_extended(cluster.plane.client, found, name, "default", PartProblems())

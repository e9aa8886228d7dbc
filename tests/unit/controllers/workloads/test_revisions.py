"""Two revisions hold the same if they put the same template in place, however each spells it."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import PodTemplateSpec
from podling.controllers.workloads.revisions import equal, template_data, template_of
from tests.support.workloads import template

PLAIN = template("web:1", app="web")


def revision(data: Any) -> ControllerRevision:
    return ControllerRevision(data=data, revision=1)


def spelt(**spec: Any) -> dict[str, Any]:
    data = template_data(PLAIN)
    data["spec"]["template"]["spec"] |= spec
    return data


@pytest.mark.parametrize(
    ("data", "same"),
    [
        (spelt(), True),
        (spelt(hostNetwork=False, hostname="", nodeSelector={}), True),
        (spelt(nodeName=None, volumes=None), True),
        (spelt(enableServiceLinks=False), False),
        (spelt(hostNetwork=True), False),
        ({**spelt(hostNetwork=False), "more": 1}, False),
        (spelt(containers="none"), False),
        ({"spec": {"template": []}}, False),
        ("text", False),
    ],
)
def test_zeros_and_nulls_make_no_other_revision(data: Any, same: bool) -> None:
    assert equal(revision(template_data(PLAIN)), revision(data)) is same
    assert equal(revision(data), revision(template_data(PLAIN))) is same


def test_template_is_read_with_explicit_defaults() -> None:
    found: PodTemplateSpec = template_of(revision(spelt(nodeName=None, hostNetwork=False)))
    assert found == PLAIN

"""Tests of the differences that messages show."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import Pod
from podling.apiserver.kinds.common.differences import describe
from tests.support.manifests import PLAIN_POD, obj


@pytest.mark.parametrize(
    ("fragment", "expected"),
    [
        ("{}", ""),
        ("spec: {nodeName: n1}", '+ spec.nodeName: "n1"'),
        (
            "spec: {serviceAccountName: other}",
            '- spec.serviceAccountName: "default"\n+ spec.serviceAccountName: "other"',
        ),
        (
            "spec: {containers: [{name: main, image: other}]}",
            '- spec.containers[0].image: "nginx:1.27"\n+ spec.containers[0].image: "other"',
        ),
        (
            "spec: {tolerations: [{operator: Exists}]}",
            '+ spec.tolerations: [{"operator":"Exists"}]',
        ),
    ],
)
def test_differing_fields_are_named_at_their_depth(fragment: str, expected: str) -> None:
    old = obj(Pod, "{}", PLAIN_POD)
    assert describe(old, obj(Pod, fragment, PLAIN_POD)) == expected

"""Annotations that SidecarSets may give to pods: the cluster's white list, and the annotations themselves.

Cases: ``TestValidateSidecarSetPatchMetadataWhitelist`` of ``pkg/control/sidecarcontrol``, and those about
``patchPodMetadata`` of ``TestValidateSidecarSet``.
"""

from __future__ import annotations

from typing import Any

import pytest

from podling.machinery.encoding import codec
from podling_kruise.sidecarset.metadata_validation import patch_errors, whitelist_errors
from podling_kruise.sidecarset.types import SidecarSet
from tests.support.sidecar_sets import sidecar_set

LIST = "SidecarSet_PatchPodMetadata_WhiteList"
MISSING = "SidecarSet patch metadata whitelist not found"
NONE_ALLOWED = "sidecarSet patch metadata annotation is not allowed"
KEY_REFUSED = "sidecarSet patch metadata annotation(key1) is not allowed"


def owner(*patches: dict[str, Any], labels: dict[str, str] | None = None) -> SidecarSet:
    plain = sidecar_set(patchPodMetadata=list(patches))
    plain["metadata"]["labels"] = labels or {}
    return codec.from_plain(plain, SidecarSet)


def rules(expressions: str, selector: str = "") -> str:
    return f'{{"rules":[{{"allowedAnnotationKeyExprs":{expressions}{selector}}}]}}'


ONE = {"annotations": {"key1": "value1"}}
OF_SIDECAR, OF_OTHER = (f',"selector":{{"matchLabels":{{"app":"{app}"}}}}' for app in ("sidecar", "other"))


@pytest.mark.parametrize(
    ("patches", "text", "problem", "problem_when_allowed"),
    [
        ([], None, "", ""),
        ([ONE], None, MISSING, ""),
        ([ONE], rules('["key.*"]'), "", ""),
        ([ONE], rules('["key2"]'), KEY_REFUSED, KEY_REFUSED),
        ([ONE], rules('["key.*"]', OF_OTHER), NONE_ALLOWED, ""),
        ([ONE], rules('["key.*"]', OF_SIDECAR), "", ""),
        ([ONE], rules("[]"), NONE_ALLOWED, ""),
        ([ONE], '{"rules":[]}', NONE_ALLOWED, ""),
        ([{"annotations": {"other": "x"}}, ONE], rules('["^other$","^key1$"]'), "", ""),
    ],
)
def test_white_list_decides_by_the_labels_of_the_set(
    patches: list[dict[str, Any]], text: str | None, problem: str, problem_when_allowed: str
) -> None:
    """The feature gate allows what no rule is about."""
    new = owner(*patches, labels={"app": "sidecar"})
    data = None if text is None else {LIST: text}
    for allowed, wanted in ((False, problem), (True, problem_when_allowed)):
        found = whitelist_errors(new, data, allowed=allowed)
        assert [each.detail for each in found] == ([wanted] if wanted else [])


@pytest.mark.parametrize("text", ["{", "[]", rules('["("]'), rules('["a"]', ',"selector":"x"')])
def test_unreadable_white_list_refuses_all_annotations(text: str) -> None:
    (found,) = whitelist_errors(owner(ONE), {LIST: text}, allowed=True)
    assert found.field == "spec.patchPodMetadata"


RETAIN = {"patchPolicy": "Retain"}


@pytest.mark.parametrize(
    ("patches", "problems"),
    [
        ([{**ONE, **RETAIN}], []),
        ([RETAIN], ["spec.patchPodMetadata: Required value: no annotations defined for SidecarSet"]),
        ([ONE], ["spec.patchPodMetadata: Required value: no patchPolicy defined for patchPodMetadata"]),
        (
            [{**ONE, **RETAIN}, {**ONE, "patchPolicy": "Overwrite"}],
            ["spec.patchPodMetadata: Required value: patch annotation[key1] already exist"],
        ),
        (
            [{"annotations": {"example.com/": "x"}, **RETAIN}],
            ['patchPodMetadata.annotations: Invalid value: "example.com/": name part must be non-empty'],
        ),
    ],
)
def test_annotations_have_a_policy_and_belong_to_one_patch(
    patches: list[dict[str, Any]], problems: list[str]
) -> None:
    found = [str(each) for each in patch_errors(owner(*patches).spec)]
    assert [text for text in problems if any(each.startswith(text) for each in found)] == problems
    assert bool(found) is bool(problems)

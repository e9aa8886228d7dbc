"""Tests of the warnings about deprecated node labels."""

from __future__ import annotations

from podling.api.core_v1 import NodeSelectorTerm
from podling.api.meta_v1 import LabelSelector
from podling.apiserver.kinds.common.deprecated_labels import node_selector_warnings, node_term_warnings
from podling.machinery.encoding import codec
from podling.machinery.fields import Path

ARCH = "beta.kubernetes.io/arch"
EXPRESSIONS = [{"key": "disk", "operator": "Exists"}, {"key": ARCH, "operator": "Exists"}]
TEXT = 'deprecated since v1.14; use "kubernetes.io/arch" instead'


def test_term_with_deprecated_label_warns() -> None:
    term = codec.convert({"matchExpressions": EXPRESSIONS}, NodeSelectorTerm)[0]
    assert list(node_term_warnings(Path("t"), term)) == [f"t.matchExpressions[1].key: {ARCH} is {TEXT}"]


def test_selector_with_deprecated_label_warns() -> None:
    plain = {"matchExpressions": EXPRESSIONS, "matchLabels": {"disk": "ssd", ARCH: "arm64"}}
    selector = codec.convert(plain, LabelSelector)[0]
    assert list(node_selector_warnings(Path("s"), selector)) == [
        f"s.matchExpressions[1].key: {ARCH} is {TEXT}",
        f"s.matchLabels.{ARCH}: {TEXT}",
    ]
    assert list(node_selector_warnings(Path("s"), None)) == []

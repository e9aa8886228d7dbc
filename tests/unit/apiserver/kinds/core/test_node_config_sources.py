"""Tests of the validation of nodes' config sources."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import Node
from podling.apiserver.kinds.core.node_config_sources import config_source_errors
from tests.support.causes import Cause, causes, forbidden, required
from tests.support.manifests import obj

SPEC = "spec.configSource.configMap"
ACTIVE = "status.config.active.configMap"
NAMED = "name: a, namespace: default, kubeletConfigKey: kubelet"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", []),
        (f"spec: {{configSource: {{configMap: {{{NAMED}}}}}}}", []),
        (
            f"spec: {{configSource: {{configMap: {{{NAMED}, resourceVersion: '1'}}}}}}",
            [forbidden(f"{SPEC}.resourceVersion", "resourceVersion must not be set in spec")],
        ),
        (
            "spec: {configSource: {configMap: {}}}",
            [
                required(f"{SPEC}.namespace", "namespace must be set"),
                required(f"{SPEC}.name", "name must be set"),
                required(f"{SPEC}.kubeletConfigKey", "kubeletConfigKey must be set"),
            ],
        ),
        (
            f"status: {{config: {{active: {{configMap: {{{NAMED}}}}}}}}}",
            [
                required(f"{ACTIVE}.uid", "uid must be set in status"),
                required(f"{ACTIVE}.resourceVersion", "resourceVersion must be set in status"),
            ],
        ),
    ],
)
def test_config_source_of_node_is_validated(text: str, expected: list[Cause]) -> None:
    assert causes(config_source_errors(obj(Node, text))) == expected

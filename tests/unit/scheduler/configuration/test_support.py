"""Fields that Podling's scheduler does not have are refused by name, unless they say what it does anyway."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.scheduler.configuration.support import unsupported
from podling.scheduler.configuration.types import KubeSchedulerConfiguration

ONE = "the cluster has one scheduler, which needs no lease"


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"leaderElection": {"leaderElect": True}}, f"leaderElection.leaderElect may only be false: {ONE}"),
        ({"leaderElection": {"resourceName": "n"}}, f"leaderElection.resourceName is not supported: {ONE}"),
        ({"leaderElection": {"leaderElect": False, "resourceName": "n"}}, ""),
        (
            {"clientConnection": {"kubeconfig": "/etc/kubernetes/scheduler.conf"}},
            "clientConnection.kubeconfig is not supported: the scheduler uses the API server of its cluster",
        ),
        ({"enableProfiling": True}, "enableProfiling may only be false: there is no profiling endpoint"),
        ({"delayCacheUntilActive": True}, f"delayCacheUntilActive may only be false: {ONE}"),
        ({"parallelism": 16, "enableProfiling": False}, ""),
    ],
)
def test_field_that_has_no_effect_here_is_refused(fields: dict[str, Any], text: str) -> None:
    found = list(unsupported(msgspec.convert(fields, KubeSchedulerConfiguration)))
    assert found == ([f"field {text}"] if text else [])

"""Names of kinds that ``podling why`` explains."""

from __future__ import annotations

import pytest

from podling.cli.common_options import NoAnswer
from podling.cli.queries import resource_named


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("po", "Pod"),
        ("pods", "Pod"),
        ("Pod", "Pod"),
        ("deploy.apps", "Deployment"),
        ("deployments.v1.apps", "Deployment"),
        ("sts", "StatefulSet"),
        ("rs", "ReplicaSet"),
        ("rc", "ReplicationController"),
        ("ds", "DaemonSet"),
        ("job", "Job"),
        ("svc", "Service"),
        ("services", "Service"),
        ("hpa", "HorizontalPodAutoscaler"),
    ],
)
def test_kind_is_found_by_kubectl_names(written: str, kind: str) -> None:
    assert resource_named(written).kind == kind


@pytest.mark.parametrize("written", ["ingress", "node", "cronjob", "", "podd"])
def test_kind_without_explanation_is_refused_with_list(written: str) -> None:
    with pytest.raises(NoAnswer, match="there are: pod, deployment, replicaset"):
        resource_named(written)

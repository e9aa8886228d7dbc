"""Every fault of scenarios: it has an effect, ends when its time is over, and the cluster recovers."""

from __future__ import annotations

import pytest

from tests.support.scenarios import played, web

FAULTS = {
    "machines": (
        "crash: {nodes: {names: [n-1]}, for: 3m}",
        "memoryPressure: {amount: 15950Mi, nodes: {names: [n-2]}, for: 1m}",
        "diskPressure: {amount: 97Gi, nodes: {names: [n-2]}, for: 1m}",
    ),
    "kubelets": (
        "stopKubelets: {nodes: {names: [n-1]}, for: 2m}",
        "restartKubelets: {}",
        "partition: {parts: ['node/n-2'], for: 2m}",
    ),
    "control-plane": (
        "stopApiServer: {for: 1m}",
        "stopControlPlane: {for: 1m}",
        "partition: {parts: [scheduler, controller-manager], for: 1m}",
    ),
    "requests": (
        "requests: {seconds: 3s, share: 0.3, for: 2m}",
        "requests: {code: 503, share: 0.3, for: 2m}",
        "requests: {code: 0, carriedOut: true, share: 0.3, for: 2m}",
        "requests: {code: 429, verb: create, share: 0.3, for: 2m}",
    ),
    "store": (
        "store: {seconds: 500ms, share: 0.5, for: 2m}",
        "store: {fails: true, share: 0.5, for: 1m}",
    ),
    "runtimes": (
        "runtime: {verb: start_container, error: no space left, for: 1m}",
        "runtime: {verb: '*', seconds: 1s, for: 2m}",
        "runtime: {verb: create_container, for: 30s}",
        "runtime: {verb: images.pull, error: connection refused, for: 1m}",
    ),
    "containers": (
        "endContainers: {pods: {app: web}, exitCode: 3, share: 0.7}",
        "restart: {kind: Deployment, name: web}",
        "delete: {target: {kind: Pod, selector: app=web, count: 2}, graceSeconds: 0}",
    ),
}


@pytest.mark.parametrize("group", FAULTS)
def test_cluster_recovers_from_faults(group: str) -> None:
    """Faults of one part overlap each other and a roll-out."""
    actions = "\n".join(f"- at: {60 + 20 * number}\n  {each}" for number, each in enumerate(FAULTS[group]))
    outcome = played(f"""
until: 14m
nodes: [{{name: n, count: 2}}]
manifests: [{web(6)}]
actions:
{actions}
- at: 90s
  setImage: {{target: {{kind: Deployment, name: web}}, image: 'web:2'}}
settlesWithin: 8m
""")
    assert outcome.passed, outcome

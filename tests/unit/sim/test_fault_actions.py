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


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (
            "crash: {}",
            "nodes/n-1: MemoryPressure=Unknown NodeStatusUnknown: Kubelet stopped posting node status.",
        ),
        ("stopApiServer: {}", "faults last to the end: stopApiServer"),
        ("stopControlPlane: {}", "faults last to the end: stopControlPlane"),
        ("partition: {parts: ['*']}", "faults last to the end: partition"),
        ("store: {fails: true}", "faults last to the end: store"),
    ],
)
def test_end_of_everything_for_good_is_named(action: str, text: str) -> None:
    outcome = played(f"""
until: 10m
manifests: [{web(2)}]
actions: [{{at: 1m, {action}}}]
settlesWithin: 5m
""")
    assert outcome.is_complete
    assert not outcome.violations
    assert not outcome.passed
    assert text in outcome.results[-1].text


def test_action_without_an_api_server_fails_in_time() -> None:
    outcome = played(f"""
until: 10m
manifests: [{web(2)}]
actions:
- {{at: 1m, stopApiServer: {{}}}}
- {{at: 2m, scale: {{target: {{kind: Deployment, name: web}}, replicas: 3}}}}
""")
    (failed,) = (each for each in outcome.actions if each.error)
    assert failed.name == "2. scale"
    assert failed.error == "dial tcp 172.16.0.0:6443: connect: connection refused"
    assert failed.at <= 430


def test_pull_that_hangs_does_not_hold_up_later_pulls_for_good() -> None:
    new = "object.spec.containers[0].image == 'web:2'"
    outcome = played(f"""
until: 15m
manifests: [{web(4)}]
actions:
- {{at: 60s, runtime: {{verb: images.pull, for: 50s}}}}
- {{at: 70s, setImage: {{target: {{kind: Deployment, name: web}}, image: 'web:2'}}}}
assertions:
- name: the old pods serve on
  always: {{count: {{selector: app=web, is: Ready, atLeast: 3}}}}
  after: 30s
- name: the runtime gives up after five minutes
  never: {{count: {{selector: app=web, is: Ready, where: "{new}", atLeast: 1}}}}
settlesWithin: 7m
""")
    assert [each.name for each in outcome.results if not each.passed] == [
        "the runtime gives up after five minutes"
    ]
    (gave_up,) = [each.at for each in outcome.results if not each.passed]
    assert 370 <= gave_up < 400
    assert not outcome.violations

"""Actions through the API: drains, deletions, images, and nodes that come and go."""

from __future__ import annotations

from podling.sim.scenario_parts import NodeGroup
from podling.sim.workload_actions import settings_of
from tests.support.scenarios import played, web


def test_evictions_of_a_drain_respect_the_budget() -> None:
    budget = (
        "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, "
        "spec: {minAvailable: 4, selector: {matchLabels: {app: web}}}}"
    )
    outcome = played(f"""
until: 15m
nodes: [{{name: n, count: 3}}]
manifests: [{web(5)}, {{objects: [{budget}]}}]
behaviours: [{{pods: {{app: web}}, script: {{startSeconds: 10}}}}]
actions:
- at: 1m
  drain: {{nodes: {{names: [n-1]}}}}
- at: 5m
  uncordon: {{names: [n-1]}}
assertions:
- name: four are always ready
  always: {{count: {{selector: app=web, is: Ready, atLeast: 4}}}}
  after: 30s
- name: the node was empty
  eventually: {{cel: "!pods.exists(p, has(p.spec.nodeName) && p.spec.nodeName == 'n-1')"}}
  after: 61s
  within: 3m
settlesWithin: 5m
""")
    assert outcome.passed, outcome


def test_nodes_are_added_and_removed() -> None:
    outcome = played(f"""
nodes: [{{name: n, count: 1}}]
manifests: [{web(2)}]
actions:
- at: 30s
  addNodes: {{name: spare, count: 2, labels: {{pool: spare}}}}
- at: 1m
  removeNodes: {{names: [n-1]}}
assertions:
- name: only spare nodes
  atTheEnd: {{count: {{kind: Node, selector: pool=spare, is: Ready, equals: 2}}}}
- name: no other nodes
  atTheEnd: {{count: {{kind: Node, equals: 2}}}}
settlesWithin: 2m
""")
    assert outcome.passed, outcome


def test_removed_node_goes_once_the_api_server_is_back() -> None:
    """The machine is gone at once, and a cloud's controller tries again until the object is too."""
    outcome = played(f"""
nodes: [{{name: n, count: 2}}]
manifests: [{web(2)}]
actions:
- {{at: 50s, stopApiServer: {{for: 30s}}}}
- {{at: 1m, removeNodes: {{names: [n-1]}}}}
assertions:
- {{name: one node is left, atTheEnd: {{count: {{kind: Node, equals: 1}}}}}}
settlesWithin: 2m
""")
    assert outcome.passed, outcome


def test_zones_of_a_group_follow_one_another() -> None:
    found = settings_of(NodeGroup(name="w", count=5, zones=("a", "b")))
    assert [(each.name, each.zone) for each in found] == [
        ("w-1", "a"),
        ("w-2", "b"),
        ("w-3", "a"),
        ("w-4", "b"),
        ("w-5", "a"),
    ]


def test_image_of_the_named_container_is_set() -> None:
    outcome = played(f"""
manifests: [{web(2)}]
actions:
- at: 30s
  setImage: {{target: {{kind: Deployment, name: web}}, container: app, image: 'web:7'}}
assertions:
- name: new image
  atTheEnd:
    count: {{selector: app=web, is: Ready, where: "object.spec.containers[0].image == 'web:7'", equals: 2}}
""")
    assert outcome.passed, outcome


def test_deletion_by_selector_takes_a_drawn_part() -> None:
    outcome = played(f"""
manifests: [{web(4)}]
actions:
- at: 30s
  delete: {{target: {{kind: Pod, selector: app=web, count: 3}}}}
assertions:
- name: one stays
  eventually: {{count: {{selector: app=web, where: "!has(object.metadata.deletionTimestamp)", equals: 1}}}}
  after: 30s
settlesWithin: 2m
""")
    assert outcome.passed, outcome


def test_deployment_of_a_paused_cluster_waits_for_the_server() -> None:
    outcome = played(f"""
until: 10m
actions:
- at: 30s
  stopApiServer: {{for: 1m}}
- at: 40s
  apply: {web(2)}
assertions:
- name: applied later
  atTheEnd: {{count: {{selector: app=web, is: Ready, equals: 2}}}}
""")
    assert outcome.passed, outcome

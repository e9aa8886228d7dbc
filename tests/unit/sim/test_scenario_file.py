"""Scenario files: what is read, and where each problem is said to be."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.sim.scenario_file import ScenarioUnusable, json_schema, read_scenario

GOOD = """\
until: 1h30m
nodes:
- name: worker
  count: 3
  zones: [a, b]
"""


def problems(text: str) -> list[str]:
    """Return the lines of problems of a scenario, without the file's name."""
    with pytest.raises(ScenarioUnusable) as caught:
        read_scenario(text, "s.yaml", Path("/nonexistent"))
    return [line.removeprefix("s.yaml:") for line in str(caught.value).splitlines()]


def test_scenario_is_read_with_its_defaults() -> None:
    found = read_scenario(GOOD, "s.yaml", Path())
    assert float(found.until) == 5400.0
    assert (found.nodes[0].count, found.nodes[0].cpu, found.nodes[0].zones) == (3, "4", ("a", "b"))


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("unknown: 1\n", "6:1: Object contains unknown field `unknown`; there are description, seed, begin"),
        ("begin: 0001-01-01T00:00:00Z\n", "6:1: a scenario begins between 1971 and 9000"),
        ("begin: 2030-01-01T00:00:00\n", "6:1: Expected `datetime` with a timezone component"),
        ("seed: x\n", "6:1: Expected `int`, got `str`"),
        ("until: 5m\n", '6:1: the key "until" occurs twice'),
        ("seed: [\n", "7:1: did not find expected node content"),
        ("actions:\n- at: 5q\n", '7:3: time: unknown unit "q" in duration "5q"'),
        ("actions:\n- at: -5\n", "7:3: the duration -5 is negative, or longer than 30 years"),
        ("actions:\n- at: 1m\n", "7:3: exactly one action must be given, found none"),
        (
            "actions:\n- at: 1m\n  boot: {}\n  cordon: {}\n",
            "7:3: exactly one action must be given, found cordon, boot",
        ),
        ("actions:\n- boot: {}\n", "7:3: either at or when must be given"),
        ("actions:\n- at: 2h\n  boot: {}\n", "7:3: this moment is after the end of the scenario"),
        ("actions:\n- at: 1m\n  times: 3\n  boot: {}\n", "8:3: times needs every"),
        (
            "actions:\n- at: 1m\n  scale: {target: {kind: Nonsense, name: x}, replicas: 1}\n",
            '8:20: no kind is called "Nonsense"',
        ),
        (
            "actions:\n- at: 1m\n  memoryPressure: {amount: much}\n",
            "8:20: quantities must match the regular expression",
        ),
        ("manifests:\n- {}\n", "7:3: either file or objects must be given"),
        ("manifests:\n- file: gone.yaml\n", "7:3: /nonexistent/gone.yaml: No such file or directory"),
        (
            "manifests:\n- objects:\n  - {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {x: 1}}\n",
            '8:5: Pod in version "v1" cannot be handled as a Pod: strict decoding error',
        ),
        (
            "manifests:\n- objects: [{apiVersion: v1, kind: Nothing}]\n",
            '7:13: no matches for kind "Nothing" in version "v1"',
        ),
        (
            "manifests:\n- objects: [{apiVersion: admissionregistration.k8s.io/v1, "
            "kind: ValidatingWebhookConfiguration, metadata: {name: a}, webhooks: [{name: a.b.c, "
            "sideEffects: None, admissionReviewVersions: [v1], "
            "clientConfig: {service: {name: h, namespace: n}}}]}]\n",
            "7:13: ValidatingWebhookConfiguration: servers has none for n/h, and there is no network",
        ),
        (
            "manifests:\n- objects: [{apiVersion: apiregistration.k8s.io/v1, kind: APIService, "
            "metadata: {name: v1.a.b}, spec: {group: a.b, version: v1, groupPriorityMinimum: 1, "
            "versionPriority: 1, service: {name: h, namespace: n}}}]\n",
            "7:13: APIService: servers has none for n/h, and there is no network",
        ),
        ("servers:\n- {}\n", "7:3: either service or url must be given"),
        ("servers:\n- service: hook\n", "7:3: a Service is named namespace/name"),
        ("servers:\n- url: http://a.example.com\n", "7:3: the URL of a webhook begins with https://"),
        ("servers:\n- {service: a/b}\n- {service: a/b}\n", "8:3: there are two servers a/b"),
        (
            "servers:\n- service: a/b\n  reviews: [{where: 'pod.x'}]\n",
            "8:14: ERROR: <input>:1:1: undeclared reference to 'pod'",
        ),
        (
            "servers:\n- service: a/b\n  reviews: [{allowed: false, patch: [{op: remove, path: /a}]}]\n",
            "8:30: a refusal has no patch",
        ),
        (
            "servers: [{service: a/b}]\nactions:\n- {at: 1m, servers: {server: b/*}}\n",
            '8:22: servers has none that fits "b/*"',
        ),
        (
            "assertions:\n- name: a\n  always: {count: {kind: Pod}}\n",
            "8:12: one of equals, atLeast, atMost must be given",
        ),
        (
            "assertions:\n- name: a\n  always: {count: {equals: 1, where: 'object.'}}\n",
            "8:31: ERROR: <input>:1:8: Syntax error",
        ),
        (
            "assertions:\n- name: a\n  always: {cel: '1 + 1'}\n",
            "8:12: the expression must be true or false, not int",
        ),
        ("assertions:\n- name: a\n", "7:3: exactly one of always, never, eventually, atTheEnd must be given"),
        (
            "assertions:\n- name: a\n  eventually: {cel: 'true'}\n  after: 1h\n  within: 1h\n",
            "10:3: this time ends after the scenario",
        ),
        ("checkers: [watch-order, guess]\n", '6:25: no checker is called "guess"'),
        ("traffic:\n- {pods: {a: b}, steps: [], cpuMilliseconds: 1}\n", "7:3: traffic needs steps"),
    ],
)
def test_problem_is_shown_at_its_place(more: str, problem: str) -> None:
    assert problems(GOOD + more)[0].startswith(problem)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "1:1: Expected `object`, got `null`"),
        ("- 1", "1:1: Expected `object`, got `array`"),
        ("until: 5m", "1:1: Object missing required field `nodes`"),
        ("until: 5m\nnodes:\n- name: A", "3:3: a lowercase RFC 1123 subdomain must consist of"),
        ("until: 5m\nnodes:\n- {name: a}\n- {name: a}", '4:4: there are two groups "a"'),
        ("until: 5m\nnodes: [{name: a, count: 99999}]", "2:1: 99999 nodes are more than the 16384"),
        ("until: 0\nnodes: []", "1:1: a scenario lasts at least one second"),
        ("a: &a [*a]", "1:4: nested deeper than 100 levels"),
        ("until: 5m\nnodes: [{name: a, cpu: '0'}]", "2:19: 0 is no positive amount"),
    ],
)
def test_unusable_file_is_refused(text: str, problem: str) -> None:
    assert problems(text)[0].startswith(problem)


def test_every_problem_is_shown() -> None:
    text = GOOD + "actions:\n- at: 1m\n- boot: {}\nassertions:\n- name: a\n"
    assert [line.split(":")[0] for line in problems(text)] == ["7", "8", "10"]


def test_schema_knows_the_fields_of_the_file() -> None:
    schema = json_schema()
    scenario = schema["$defs"]["Scenario"]["properties"]
    assert {"until", "nodes", "actions", "assertions", "settlesWithin"} <= set(scenario)
    assert "setImage" in schema["$defs"]["Action"]["properties"]


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("assertion: []\n", "6:1: Object contains unknown field `assertion`; did you mean `assertions`?"),
        (
            "settleswithin: 5m\n",
            "6:1: Object contains unknown field `settleswithin`; did you mean `settlesWithin`?",
        ),
        (
            "actions:\n- at: 1m\n  crashes: {}\n",
            "8:3: Object contains unknown field `crashes`; did you mean `crash`?",
        ),
        (
            "actions:\n- at: 1m\n  crash: {node: {}}\n",
            "8:11: Object contains unknown field `node`; did you mean `nodes`?",
        ),
        (
            "faults: {before: 5m, last: 3s}\n",
            "6:22: Object contains unknown field `last`; did you mean `lasting`?",
        ),
    ],
)
def test_unknown_field_is_refused_with_the_one_that_is_like_it(more: str, problem: str) -> None:
    assert problems(GOOD + more) == [problem]

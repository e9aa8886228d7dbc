"""Tests of ``pods/status``."""

from __future__ import annotations

import pytest
import yaml

from podling.api.core_v1 import Pod
from podling.apiserver.kinds.common.base import Context
from tests.support.causes import Cause, forbidden
from tests.support.manifests import NOW, PLAIN_POD, change_causes, created, merged, obj, rules


def statuses(policy: str, state: str) -> str:
    return (
        f"spec: {{restartPolicy: {policy}}}\n"
        f"status: {{containerStatuses: [{{name: main, state: {{{state}}}}}]}}"
    )


def pair(before: str, after: str) -> tuple[Pod, Pod]:
    """Return a stored pod, and the same pod with more fields, as in an update."""
    base = merged(PLAIN_POD, yaml.safe_load(before) or {})
    old = created(obj(Pod, "", base))
    status = obj(Pod, "", base).status
    given = status.container_statuses or status.init_container_statuses or status.conditions
    return obj(Pod, after, base), type(old)(
        metadata=old.metadata, spec=old.spec, status=status if given else old.status
    )


def update(before: str, after: str, subresource: str = "") -> list[Cause]:
    new, old = pair(before, after)
    return change_causes(new, old, subresource)


ALIVE_AGAIN: list[Cause] = [
    forbidden("status.containerStatuses[0].state", "may not be transitioned to non-terminated state")
]


@pytest.mark.parametrize(
    ("policy", "code", "expected"),
    [
        ("Always", 0, []),
        ("OnFailure", 1, []),
        ("OnFailure", 0, ALIVE_AGAIN),
        ("Never", 1, ALIVE_AGAIN),
    ],
)
def test_ended_container_stays_ended_unless_restartable(
    policy: str, code: int, expected: list[Cause]
) -> None:
    before = statuses(policy, f"terminated: {{exitCode: {code}}}")
    assert update(before, statuses(policy, "running: {}"), "status") == expected


RULED = (
    "restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]"
)


@pytest.mark.parametrize(
    ("own", "code", "expected"),
    [
        ("restartPolicy: OnFailure", 1, []),
        ("restartPolicy: OnFailure", 0, ALIVE_AGAIN),
        (RULED, 42, []),
        ("restartPolicy: Never", 1, ALIVE_AGAIN),
    ],
)
@pytest.mark.parametrize("sort", ["containers", "initContainers"])
def test_own_policy_and_rules_of_container_permit_restart(
    sort: str, own: str, code: int, expected: list[Cause]
) -> None:
    status = "containerStatuses" if sort == "containers" else "initContainerStatuses"
    spec = f"spec: {{restartPolicy: Never, {sort}: [{{name: x, image: x, {own}}}]}}\n"
    ended, runs = (
        f"{spec}status: {{{status}: [{{name: x, state: {{{state}}}}}]}}"
        for state in (f"terminated: {{exitCode: {code}}}", "running: {}")
    )
    assert update(ended, runs, "status") == [
        (field.replace("containerStatuses", status), *rest) for field, *rest in expected
    ]


def test_status_update_keeps_omitted_values() -> None:
    new, old = pair("", "status: {phase: Running, hostIP: 10.0.0.1}")
    made = rules(Pod).prepare_update(new, old, Context(NOW, subresource="status"))
    assert (made.status.phase, made.status.qos_class) == ("Running", "BestEffort")
    assert made.spec == old.spec


def test_status_update_keeps_resize_of_another_writer() -> None:
    """The field is out of use: what a writer says is kept, and the kubelet writes conditions instead."""
    new, old = pair("", "status: {phase: Running, resize: Proposed}")
    made = rules(Pod).prepare_update(new, old, Context(NOW, subresource="status"))
    assert made.status.resize == "Proposed"


def test_condition_keeps_observed_generation() -> None:
    ready = "status: {conditions: [{type: Ready, status: 'True', observedGeneration: 3}]}"
    new, old = pair(
        ready, "status: {conditions: [{type: Other, status: 'True'}, {type: Ready, status: 'False'}]}"
    )
    made = rules(Pod).prepare_update(new, old, Context(NOW, subresource="status"))
    assert [each.observed_generation for each in made.status.conditions] == [0, 3]


@pytest.mark.parametrize(
    ("given", "ip", "ips"),
    [
        ("podIP: 10.0.0.1", "10.0.0.1", ["10.0.0.1"]),
        ("podIPs: [{ip: 10.0.0.1}]", "10.0.0.1", ["10.0.0.1"]),
        ("podIP: 10.0.0.2, podIPs: [{ip: 10.0.0.1}, {ip: 'fd00::1'}]", "10.0.0.2", ["10.0.0.2"]),
        ("podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}, {ip: 'fd00::1'}]", "10.0.0.1", ["10.0.0.1", "fd00::1"]),
        ("phase: Running", "", []),
    ],
)
def test_pod_ip_is_the_first_of_pod_ips(given: str, ip: str, ips: list[str]) -> None:
    new, old = pair("", f"status: {{{given}}}")
    status = rules(Pod).prepare_update(new, old, Context(NOW, subresource="status")).status
    assert (status.pod_ip, [each.ip for each in status.pod_ips]) == (ip, ips)


def test_status_with_unusual_addresses_warns() -> None:
    status = "status: {podIPs: [{ip: 10.0.0.1}, {ip: '2001:DB8::1'}]}"
    found = rules(Pod).warnings(obj(Pod, status), obj(Pod, ""), Context(NOW, subresource="status"))
    assert found == [
        'status.podIPs[1].ip: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format '
        '("2001:db8::1")'
    ]

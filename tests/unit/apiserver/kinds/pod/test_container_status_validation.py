"""Tests of the validation of container statuses."""

from __future__ import annotations

import pytest
import yaml

from podling.api.core_v1 import Pod
from tests.support.causes import SUBDOMAIN_TEXT, Cause, duplicate, forbidden, invalid, required, unsupported
from tests.support.manifests import PLAIN_POD, change_causes, created, merged, obj


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


def test_claim_statuses_name_claims_of_the_pod() -> None:
    claims = "spec: {resourceClaims: [{name: a, resourceClaimName: b}]}"
    status = "status: {resourceClaimStatuses: [{name: a, resourceClaimName: B}, {name: a}, {name: c}]}"
    where = "status.resourceClaimStatuses"
    assert update(claims, f"{claims}\n{status}", "status") == [
        invalid(f"{where}[0].name", '"B"', SUBDOMAIN_TEXT),
        duplicate(f"{where}[1].name", '"a"'),
        invalid(f"{where}[2].name", '"c"', "must match the name of an entry in `spec.resourceClaims`"),
    ]


NAME_TEXT = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
STATUSES: list[tuple[str, str, list[Cause]]] = [
    (
        "spec: {nodeName: n1}",
        "status: {nominatedNodeName: n2}",
        [forbidden("status.nominatedNodeName", "may not be set on pods that are already bound to a node")],
    ),
    (
        "",
        "status: {observedGeneration: -1, conditions: "
        "[{type: 'a b', status: 'True', observedGeneration: -2}]}",
        [
            invalid("status.conditions[0].observedGeneration", "-2", "must be a non-negative integer"),
            invalid("status.conditions[0].Type", '"a b"', NAME_TEXT),
            invalid("status.observedGeneration", "-1", "must be a non-negative integer"),
        ],
    ),
    (
        "",
        "status: {podIPs: [{ip: 10.0.0.1}, {ip: 10.0.0.2}], hostIP: 10.0.0.3, hostIPs: [{ip: x}]}",
        [
            invalid(
                "status.podIPs",
                '[{"ip":"10.0.0.1"},{"ip":"10.0.0.2"}]',
                "may specify no more than one IP for each IP family",
            ),
            invalid("status.hostIPs[0].ip", '"x"', "must be equal to `hostIP`"),
            invalid(
                "status.hostIPs[0]", '"x"', "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
            ),
        ],
    ),
    (
        "",
        "status: {containerStatuses: [{name: main, user: {linux: {uid: -1, gid: 0}}, "
        "allocatedResourcesStatus: [{name: gpu, "
        "resources: [{resourceID: a, health: Healthy}, {resourceID: a, health: Ill, message: ''}]}]}]}",
        [
            invalid(
                "status.containerStatuses[0].user.linux.uid",
                "-1",
                "must be between 0 and 2147483647, inclusive",
            ),
            invalid(
                "status.containerStatuses[0].allocatedResourcesStatus[0].name",
                '"gpu"',
                "must match one of the container's resource requests",
            ),
            unsupported(
                "status.containerStatuses[0].allocatedResourcesStatus[0].resources[1].health",
                "Ill",
                "Healthy",
                "Unhealthy",
                "Unknown",
            ),
            required(
                "status.containerStatuses[0].allocatedResourcesStatus[0].resources[1].message",
                "must be non-empty if specified",
            ),
            duplicate(
                "status.containerStatuses[0].allocatedResourcesStatus[0].resources[1].resourceID", '"a"'
            ),
        ],
    ),
    (
        "",
        "status: {extendedResourceClaimStatus: {requestMappings: "
        "[{containerName: ghost, resourceName: a, requestName: b}], resourceClaimName: ''}}",
        [
            invalid(
                "status.extendedResourceClaimStatus.requestMappings[0].containerName",
                '"ghost"',
                "must match the name of an entry in spec.initContainers.name or spec.containers.name",
            ),
            required("status.extendedResourceClaimStatus.resourceClaimName"),
        ],
    ),
]


@pytest.mark.parametrize(("before", "after", "expected"), STATUSES)
def test_invalid_pod_status_is_refused_with_causes(before: str, after: str, expected: list[Cause]) -> None:
    assert update(before, after, "status") == expected

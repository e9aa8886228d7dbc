"""Validation of the plugins' configurations: Kubernetes' tables."""

from __future__ import annotations

import msgspec
import pytest
import yaml

from podling.apiserver.admission.configuration.types import (
    PodSecurityConfiguration,
    PodSecurityDefaults,
    PodSecurityExemptions,
    ResourceQuotaConfiguration,
)
from podling.apiserver.admission.configuration.validation import pod_security_errors, quota_errors

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
LONG = "test" * 16
LEVEL, VERSION = "must be one of privileged, baseline, restricted", 'must be "latest" or "v1.x"'


def started(found: list[str], expected: list[str]) -> list[str]:
    """Return the beginnings of texts, as long as those that are expected."""
    return [text[: len(begin)] for text, begin in zip(found, expected, strict=True)]


def test_exemptions_are_names_without_repetition() -> None:
    names = ("", "_&$%#", "TEST")
    exempt = PodSecurityExemptions(
        namespaces=(*names, LONG, "testing", "testing"),
        runtime_classes=(*names, "testing", "testing"),
        usernames=("", "testing", "testing"),
    )
    defaults = PodSecurityDefaults(
        enforce_version="v1.22", audit="baseline", audit_version="v1.25", warn="restricted"
    )
    found = map(str, pod_security_errors(PodSecurityConfiguration(defaults=defaults, exemptions=exempt)))
    expected = [
        f'exemptions.namespaces[0]: Invalid value: "": {LABEL}',
        f'exemptions.namespaces[1]: Invalid value: "_&$%#": {LABEL}',
        f'exemptions.namespaces[2]: Invalid value: "TEST": {LABEL}',
        f'exemptions.namespaces[3]: Invalid value: "{LONG}": must be no more than 63 characters',
        'exemptions.namespaces[5]: Duplicate value: "testing"',
        'exemptions.runtimeClasses[0]: Invalid value: "": a lowercase RFC 1123 subdomain must consist of',
        'exemptions.runtimeClasses[1]: Invalid value: "_&$%#": a lowercase RFC 1123 subdomain must consist',
        'exemptions.runtimeClasses[2]: Invalid value: "TEST": a lowercase RFC 1123 subdomain must consist',
        'exemptions.runtimeClasses[4]: Duplicate value: "testing"',
        "exemptions.usernames[0]: Required value",
        'exemptions.usernames[2]: Duplicate value: "testing"',
    ]
    assert started(list(found), expected) == expected


def test_defaults_are_levels_and_versions() -> None:
    defaults = PodSecurityDefaults(
        enforce="baslein",
        enforce_version="v.122",
        audit="lorum",
        audit_version="ipsum",
        warn="",
        warn_version="",
    )
    assert list(map(str, pod_security_errors(PodSecurityConfiguration(defaults=defaults)))) == [
        f'defaults.enforce: Invalid value: "baslein": {LEVEL}',
        f'defaults.enforce-version: Invalid value: "v.122": {VERSION}',
        f'defaults.warn: Invalid value: "": {LEVEL}',
        f'defaults.warn-version: Invalid value: "": {VERSION}',
        f'defaults.audit: Invalid value: "lorum": {LEVEL}',
        f'defaults.audit-version: Invalid value: "ipsum": {VERSION}',
    ]


CLASS = "limitedResources[0].matchScopes[0]"


@pytest.mark.parametrize(
    ("limited", "expected"),
    [
        ("{resource: pods, matchContains: [requests.cpu]}", []),
        ("{resource: persistentvolumeclaims, matchContains: [requests.storage]}", []),
        ("{matchContains: [requests.cpu]}", ["limitedResources[0].resource: Required value"]),
        ("{resource: pods, matchScopes: [{scopeName: BestEffort, operator: ''}]}", []),
        ("{resource: pods, matchScopes: [{scopeName: PriorityClass, operator: DoesNotExist}]}", []),
        (
            "{resource: pods, matchScopes: [{scopeName: PriorityClass, operator: ''}]}",
            [f'{CLASS}.operator: Invalid value: "": not a valid selector operator'],
        ),
        (
            "{resource: pods, matchScopes: [{scopeName: PriorityClass, operator: In}]}",
            [
                f"{CLASS}.values: Required value: must be at least one value when `operator` is 'In' or "
                "'NotIn' for scope selector"
            ],
        ),
    ],
)
def test_limited_resources_are_named(limited: str, expected: list[str]) -> None:
    plain = yaml.safe_load(f"limitedResources: [{limited}]")
    found = msgspec.convert(plain, ResourceQuotaConfiguration)
    assert list(map(str, quota_errors(found))) == expected

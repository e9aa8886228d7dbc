"""Pod Security with a configuration: defaults, exemptions, and warnings of existing pods.

The cases are those of Kubernetes' ``TestValidatePodAndController`` and ``TestValidateNamespace``.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import structs

from podling.api.apps_v1 import Deployment
from podling.api.core_v1 import EphemeralContainer, Namespace, Pod, SecurityContext
from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.api.node_v1 import RuntimeClass
from podling.apiserver.admission import pod_security
from podling.apiserver.admission.base import AdmissionRequest, Operation
from podling.apiserver.admission.configuration.types import (
    PluginSettings,
    PodSecurityConfiguration,
    PodSecurityDefaults,
    PodSecurityExemptions,
)
from podling.apiserver.admission.pod_security import PodSecurity
from podling.apiserver.admission.pod_security_policy import LevelVersion
from podling.apiserver.admission.pod_security_warnings import Violators, prioritized
from podling.apiserver.admission.registry import plugins_without_controllers
from podling.client.base import PatchType
from podling.client.requests import SYSTEM, Target, User, WriteOptions
from podling.machinery.errors import ApiError
from podling.machinery.scheme import resource_of
from podling.testing import ControlPlane, memory_cluster
from tests.support.manifests import NOW, PLAIN_POD, obj

PREFIX = "pod-security.kubernetes.io/"
EXEMPT_USER = User("exempt-user", ("system:masters", "system:authenticated"))
EXEMPTIONS = PodSecurityExemptions(
    usernames=("exempt-user",), namespaces=("exempt",), runtime_classes=("exempt-class",)
)
PRIVILEGED = "containers: [{name: main, image: x, securityContext: {privileged: true}}]"


def with_configuration(**defaults: str) -> PluginSettings:
    given = PodSecurityDefaults(**defaults)
    return PluginSettings(pod_security=PodSecurityConfiguration(defaults=given, exemptions=EXEMPTIONS))


@pytest.fixture
async def lenient() -> AsyncIterator[ControlPlane]:
    """A cluster with exemptions, and the runtime class of one."""
    async with memory_cluster(plugins_without_controllers(settings=with_configuration())) as cluster:
        for name in ("exempt-class", "other-class"):
            await cluster.client.create(RuntimeClass(metadata=ObjectMeta(name=name), handler="x"))
        yield cluster


async def write(cluster: ControlPlane, thing: Any, user: User = SYSTEM, *, update: bool = False) -> list[str]:
    """Create or update an object; return the warnings."""
    options = WriteOptions()
    target = Target(resource_of(type(thing)), thing.metadata.namespace or "")
    if update:
        target = Target(target.resource, target.namespace, thing.metadata.name)
        await cluster.backend.update(target, user, thing, options)
    else:
        await cluster.backend.create(target, user, thing, options)
    return options.warnings


def labelled(name: str, **labels: str) -> Namespace:
    given = {f"{PREFIX}{mode.replace('_', '-')}": level for mode, level in labels.items()}
    return Namespace(metadata=ObjectMeta(name=name, labels=given))


def pod_in(namespace: str, spec: str = PRIVILEGED, name: str = "web") -> Pod:
    made: Pod = obj(Pod, f"metadata: {{name: {name}, namespace: {namespace}}}\nspec: {{{spec}}}", PLAIN_POD)
    return made


def deployment_in(namespace: str, spec: str = PRIVILEGED) -> Deployment:
    template = f"template: {{metadata: {{labels: {{a: b}}}}, spec: {{{spec}}}}}"
    selector = "selector: {matchLabels: {a: b}}"
    text = f"metadata: {{name: web, namespace: {namespace}}}\nspec: {{{selector}, {template}}}"
    made: Deployment = obj(Deployment, text)
    return made


@pytest.mark.parametrize(
    ("namespace", "user", "spec"),
    [
        ("exempt", SYSTEM, PRIVILEGED),
        ("strict", EXEMPT_USER, PRIVILEGED),
        ("strict", SYSTEM, f"{PRIVILEGED}, runtimeClassName: exempt-class"),
    ],
)
async def test_exempt_pods_are_neither_refused_nor_warned_of(
    lenient: ControlPlane, namespace: str, user: User, spec: str
) -> None:
    every = dict.fromkeys(("enforce", "audit", "warn"), "restricted")
    await write(lenient, labelled(namespace, **every))
    assert await write(lenient, pod_in(namespace, spec), user) == []
    assert await write(lenient, deployment_in(namespace, spec), user) == []


async def test_pods_that_are_not_exempt_are_refused(lenient: ControlPlane) -> None:
    every = dict.fromkeys(("enforce", "audit", "warn"), "restricted")
    await write(lenient, labelled("strict", **every))
    with pytest.raises(ApiError, match='violates PodSecurity "restricted:latest": privileged'):
        await write(lenient, pod_in("strict", f"{PRIVILEGED}, runtimeClassName: other-class"))
    (warning,) = await write(lenient, deployment_in("strict"))
    assert warning.startswith('would violate PodSecurity "restricted:latest": privileged')


async def test_defaults_hold_where_a_namespace_has_no_labels() -> None:
    settings = with_configuration(enforce="baseline", enforce_version="v1.30", warn="restricted")
    async with memory_cluster(plugins_without_controllers(settings=settings)) as cluster:
        with pytest.raises(ApiError, match=r'violates PodSecurity "baseline:v1\.30": privileged'):
            await write(cluster, pod_in("default"))
        (warning,) = await write(cluster, pod_in("default", ""))
        assert warning.startswith('would violate PodSecurity "restricted:latest": allowPrivilegeEscalation')
        await write(cluster, labelled("free", enforce="privileged", warn="privileged"))
        assert await write(cluster, pod_in("free")) == []


async def test_audited_violations_are_logged(lenient: ControlPlane, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    await write(lenient, labelled("watched", audit="baseline"))
    assert await write(lenient, pod_in("watched")) == []
    texts = [each.getMessage() for each in caplog.records if "audit-violations" in each.getMessage()]
    why = 'privileged (container "main" must not set securityContext.privileged=true)'
    assert texts == [f'{PREFIX}audit-violations: would violate PodSecurity "baseline:latest": {why}']


@pytest.mark.parametrize(
    ("spec", "is_refused"),
    [
        ({"activeDeadlineSeconds": 5}, False),
        ({"containers": [{"name": "main", "image": "y"}]}, True),
    ],
)
async def test_update_is_looked_at_if_it_changes_an_image(
    lenient: ControlPlane, spec: dict[str, Any], is_refused: bool
) -> None:
    await write(lenient, labelled("team"))
    await write(lenient, pod_in("team"))
    await write(lenient, labelled("team", enforce="restricted"), update=True)
    change = lenient.client.patch(Pod, "web", {"spec": spec}, "team", patch_type=PatchType.STRATEGIC)
    if is_refused:
        with pytest.raises(ApiError, match="violates PodSecurity"):
            await change
    else:
        await change


async def test_every_update_of_a_template_is_warned_of(lenient: ControlPlane) -> None:
    await write(lenient, labelled("team", warn="baseline"))
    deployment = deployment_in("team")
    expected = await write(lenient, deployment)
    assert expected[0].startswith('would violate PodSecurity "baseline:latest": privileged')
    assert await write(lenient, deployment, update=True) == expected


async def test_added_ephemeral_container_is_looked_at(lenient: ControlPlane) -> None:
    await write(lenient, labelled("team", enforce="baseline"))
    await write(lenient, pod_in("team", ""))
    pod = await lenient.client.get(Pod, "web", "team")
    context = SecurityContext(privileged=True)
    debugger = EphemeralContainer(name="debugger", image="x", security_context=context)
    changed = structs.replace(pod, spec=structs.replace(pod.spec, ephemeral_containers=(debugger,)))
    with pytest.raises(ApiError, match=r'container "debugger" must not set'):
        await lenient.client.update(changed, subresource="ephemeralcontainers")


def enforcing(level: str = "", version: str = "") -> dict[str, str]:
    return {key: value for key, value in (("enforce", level), ("enforce_version", version)) if value}


EXISTING = 'existing pods in namespace "test" violate the new PodSecurity enforce level '
VIOLATORS = ["a (and 1 other pod): privileged", "c: host namespaces, privileged"]
FIRST = {
    "a": PRIVILEGED,
    "b": f"{PRIVILEGED}, runtimeClassName: other-class",
    "c": f"{PRIVILEGED}, hostNetwork: true",
    "d": f"{PRIVILEGED}, runtimeClassName: exempt-class",
}
"""Pods of a namespace by name."""


@pytest.mark.parametrize(
    ("old", "new", "warnings"),
    [
        (enforcing("baseline", "v1.0"), enforcing("baseline", "v1.0"), []),
        (enforcing("restricted", "v1.0"), enforcing("baseline", "v1.0"), []),
        (enforcing("restricted", "latest"), enforcing("baseline", "latest"), []),
        (enforcing("restricted"), enforcing("baseline"), []),
        (enforcing("restricted", "v1.0"), enforcing("privileged"), []),
        (enforcing("restricted", "v1.0"), enforcing(), []),
        (enforcing(), enforcing("baseline"), [f'{EXISTING}"baseline:latest"', *VIOLATORS]),
        (
            enforcing("restricted"),
            enforcing("baseline", "v1.30"),
            [f'{EXISTING}"baseline:v1.30"', *VIOLATORS],
        ),
    ],
)
async def test_stricter_level_warns_of_existing_pods(
    lenient: ControlPlane, old: dict[str, str], new: dict[str, str], warnings: list[str]
) -> None:
    await write(lenient, labelled("test"))
    for name, spec in FIRST.items():
        await write(lenient, pod_in("test", spec, name))
    await write(lenient, labelled("test", **old), update=True)
    assert await write(lenient, labelled("test", **new), update=True) == warnings


async def test_only_so_many_existing_pods_are_checked(
    lenient: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pod_security, "PODS_MAX", 51)
    await write(lenient, labelled("test"))
    for number in range(52):
        await write(lenient, pod_in("test", name=f"p{number}"))
    assert await write(lenient, labelled("test", enforce="baseline"), update=True) == [
        "new PodSecurity enforce level only checked against the first 51 of 52 existing pods",
        f'{EXISTING}"baseline:latest"',
        "p0 (and 50 other pods): privileged",
    ]


async def test_default_that_is_stricter_than_the_old_labels_warns() -> None:
    settings = with_configuration(enforce="baseline")
    async with memory_cluster(plugins_without_controllers(settings=settings)) as cluster:
        await write(cluster, labelled("test", enforce="privileged"))
        await write(cluster, pod_in("test", name="a"))
        expected = [f'{EXISTING}"baseline:latest"', "a: privileged"]
        assert await write(cluster, labelled("test"), update=True) == expected


@pytest.mark.parametrize(
    ("new", "why"),
    [
        (enforcing("unknown"), "must be one of privileged, baseline, restricted"),
        (enforcing("privileged", "unknown"), 'must be "latest" or "v1.x"'),
        (enforcing("privileged", "v1.01"), 'must be "latest" or "v1.x"'),
    ],
)
async def test_wrong_labels_are_refused_when_they_are_new(
    lenient: ControlPlane, new: dict[str, str], why: str
) -> None:
    await write(lenient, labelled("test"))
    with pytest.raises(ApiError, match=why):
        await write(lenient, labelled("test", **new), update=True)
    with pytest.raises(ApiError, match=why):
        await write(lenient, labelled("other", **new))


async def test_wrong_labels_that_were_there_may_stay() -> None:
    """Namespaces may have had them before the plugin looked at them."""
    async with memory_cluster([]) as cluster:
        await write(cluster, labelled("test", enforce="unknown"))
        stored = await cluster.client.get(Namespace, "test")
    request = AdmissionRequest(
        operation=Operation.UPDATE,
        resource=resource_of(Namespace),
        subresource="",
        namespace="",
        name="test",
        object=stored,
        old=stored,
        user=SYSTEM,
        now=NOW,
    )
    await PodSecurity().validate(request, cluster.server.objects)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ({}, ""),
        (enforcing("privileged"), ""),
        (enforcing("baseline"), "enforce=baseline:latest"),
        (
            enforcing("restricted", "v1.30") | {"warn": "baseline"},
            "enforce=restricted:v1.30, warn=baseline:latest",
        ),
    ],
)
async def test_policy_of_an_exempt_namespace_is_said_to_be_ignored(
    lenient: ControlPlane, labels: dict[str, str], said: str
) -> None:
    why = f'namespace "exempt" is exempt from Pod Security, and the policy ({said}) will be ignored'
    expected = [why] if said else []
    assert await write(lenient, labelled("exempt", **labels)) == expected
    await write(lenient, labelled("exempt"), update=True)
    assert await write(lenient, labelled("exempt", **labels), update=True) == expected


def replicas(owner: str) -> list[Pod]:
    reference = OwnerReference(
        api_version="apps/v1", kind="ReplicaSet", name=owner, uid=owner, controller=True
    )
    return [
        Pod(metadata=ObjectMeta(name=f"{owner}-{number}", owner_references=(reference,)))
        for number in range(3)
    ]


def test_one_pod_of_each_controller_is_checked_first() -> None:
    exempt = pod_in("test", f"{PRIVILEGED}, runtimeClassName: exempt-class", "e")
    pods = [exempt, *replicas("one"), *replicas("two"), pod_in("test", name="alone")]
    names = [pod.metadata.name for pod in prioritized(pods, ("exempt-class",))]
    assert names == ["one-0", "two-0", "alone", "one-1", "one-2", "two-1", "two-2"]


def test_warnings_say_how_many_pods_were_checked() -> None:
    violators = Violators(LevelVersion("baseline"))
    violators.check([pod_in("test", name=name) for name in ("c", "a", "b")])
    assert violators.warnings("test", 5) == [
        "new PodSecurity enforce level only checked against the first 3 of 5 existing pods",
        f'{EXISTING}"baseline:latest"',
        "a (and 2 other pods): privileged",
    ]

"""``podling why`` for objects that are protected from deletion."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from podling.api.core_v1 import Namespace, Service
from podling.cli.common_options import NoAnswer
from podling.cli.evidence import Explanation, PartProblems
from podling.cli.queries import resource_named
from podling.cli.why import WantedKind, answer_of
from podling.cli.workloads.extension_kinds import kind_of
from podling.cli.workloads.extension_notes import noted_resource
from podling.machinery.encoding import codec
from podling_kruise.extension import KruiseExtension
from podling_kruise.names import CRD_CASCADING, DELETION_PROTECTION, DELETION_PROTECTION_GATE
from tests.support.clone_sets import Kruise, kruise_api, manifest
from tests.support.sidecar_sets import create, pod

EXTENSIONS = (KruiseExtension(),)


@pytest.fixture
async def kruise() -> AsyncIterator[Kruise]:
    async with kruise_api() as found:
        yield found


def labels(protection: str) -> Mapping[str, str]:
    return {DELETION_PROTECTION: protection}


async def ask(kruise: Kruise, wanted: WantedKind, name: str) -> Explanation:
    return await answer_of(kruise.plane.client, wanted, name, "default", PartProblems())


def noted(kind: str) -> WantedKind:
    resource = noted_resource(EXTENSIONS, kind)
    assert resource is not None
    return WantedKind(resource, EXTENSIONS, only_notes=True)


async def test_protected_service_names_the_label(kruise: Kruise) -> None:
    plain = {
        "metadata": {"name": "web", "namespace": "default", "labels": labels("Always")},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
    }
    await kruise.client.create(codec.from_plain(plain, Service))
    answer = await ask(kruise, WantedKind(resource_named("svc"), EXTENSIONS), "web")
    assert (answer.healthy, answer.area) == (False, "service")
    assert answer.text.endswith("It is protected from deletion: the API server refuses each (Always).")
    assert answer.advice.endswith(f"To delete it, remove the label {DELETION_PROTECTION} first.")
    assert answer.evidence[-1].name == f"label {DELETION_PROTECTION}"


@pytest.mark.parametrize(
    ("replicas", "text"),
    [(2, "the API server refuses it now: it has 2 replicas"), (0, "the API server allows it now")],
)
async def test_workload_is_protected_while_it_has_replicas(kruise: Kruise, replicas: int, text: str) -> None:
    plain = manifest("v1beta1", replicas=replicas)
    plain["metadata"]["labels"] = labels("Cascading")
    await create(kruise, plain)
    kind = kind_of(EXTENSIONS, "cloneset")
    assert kind is not None
    answer = await ask(kruise, WantedKind(kind, EXTENSIONS), "web")
    assert f"It is protected from deletion with its parts: {text} (Cascading)." in answer.text


async def test_namespace_is_protected_while_it_has_pods(kruise: Kruise) -> None:
    made: dict[str, Any] = {"metadata": {"name": "shop", "labels": labels("Cascading")}}
    await kruise.client.create(codec.from_plain(made, Namespace))
    empty = await ask(kruise, noted("ns"), "shop")
    inside = codec.to_plain(pod())
    inside["metadata"]["namespace"] = "shop"
    await kruise.client.create(codec.from_plain(inside, type(pod())))
    full = await ask(kruise, noted("namespace"), "shop")
    assert empty.text.startswith("Namespace shop exists. ")
    assert "allows it now" in empty.text
    assert "refuses it now: it has 1 active pods (Cascading)" in full.text


@pytest.mark.parametrize(
    ("is_open", "why"),
    [(True, "it may have custom objects"), (False, f"feature-gate {CRD_CASCADING} is not enabled")],
)
async def test_definition_is_protected_while_it_has_objects(kruise: Kruise, is_open: bool, why: str) -> None:
    name = "clonesets.apps.kruise.io"
    extensions = (KruiseExtension({CRD_CASCADING: is_open}),)
    kind = noted("crd").kind
    definition = WantedKind(kind, extensions, only_notes=True)
    patch = {"metadata": {"labels": labels("Cascading")}}
    await kruise.plane.client.patch(kind.type, name, patch)  # type: ignore[union-attr]
    answer = await ask(kruise, definition, name)
    assert f"refuses it now: {why}" in answer.text


async def test_unprotected_object_has_no_note(kruise: Kruise) -> None:
    assert (await ask(kruise, noted("ns"), "default")).text == "Namespace default exists."


async def test_missing_object_is_no_answer(kruise: Kruise) -> None:
    with pytest.raises(NoAnswer, match='There is no namespace "absent"'):
        await ask(kruise, noted("ns"), "absent")


def test_closed_gate_makes_no_notes() -> None:
    assert KruiseExtension({DELETION_PROTECTION_GATE: False}).notes() == {}
    assert noted_resource((KruiseExtension(),), "configmap") is None
